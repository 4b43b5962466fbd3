"""Verification results as text, Markdown or JSON."""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from clearhead.compare.environment import Machine, describe_machine
from clearhead.compare.proofs.verification import PEERS, Result, Verification

FORMAT_VERSION = 1
NONE = "—"
LEGEND = (
    "outputs, gradients: the largest absolute difference of any element, measured now; "
    f"{NONE}: no gradients (decoding, optimizers, exports, attention weights)"
)
Format = Literal["text", "md", "json"]


def show(found: Verification, format: Format) -> str:
    """The results in this format."""
    machine = describe_machine()
    if format == "json":
        return _json(found, machine)
    lines = _markdown(found, machine) if format == "md" else _text(found, machine)
    return "\n".join(lines) + "\n"


def _text(found: Verification, machine: Machine) -> Iterator[str]:
    for peer, versions in found.versions.items():
        yield f"{peer}: {PEERS[peer].title} ({versions})"
        yield f"  {'':6} {'in':8} {'outputs':>8} {'gradients':>9}  {'bound':9} claim"
        yield from text_rows(result for result in found.results if result.peer == peer)
        yield ""
    yield LEGEND
    yield f"{machine}"
    yield from found.remarks
    yield _summary(found)


def text_rows(results: Iterable[Result]) -> Iterator[str]:
    """One line per proof; the claim is last because its width varies."""
    for result in results:
        outputs, gradients = _differences(result)
        proof, note = result.proof, result.deviation.note
        yield (
            f"  {_status(result):6} {proof.precision:8} {outputs:>8} {gradients:>9}  "
            f"≤ {_scientific(proof.bound):<7} {proof.claim}{f' ({note})' if note else ''}"
        )


def _markdown(found: Verification, machine: Machine) -> Iterator[str]:
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
        outputs, gradients = _differences(result)
        proof, note = result.proof, result.deviation.note
        yield (
            f"| {proof.ours} | {proof.relation} {proof.theirs} | {proof.precision} | {outputs} "
            f"| {gradients} | {_scientific(proof.bound)} "
            f"| {_status(result)}{f'; {note}' if note else ''} |"
        )


def _json(found: Verification, machine: Machine) -> str:
    record = {
        "format_version": FORMAT_VERSION,
        "machine": str(machine),
        "versions": found.versions,
        "left_out": found.remarks,
        "missed": found.missed,
        "proofs": json_rows(found.results),
    }
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


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


def _differences(result: Result) -> tuple[str, str]:
    gradients = result.deviation.gradients
    return _scientific(result.deviation.outputs), (
        NONE if gradients is None else _scientific(gradients)
    )


def _scientific(value: float) -> str:
    return f"{value:.1e}" if value else "0"


def _status(result: Result) -> str:
    return "met" if result.met else "MISSED"


def _summary(found: Verification) -> str:
    count = len(found.results)
    seconds = sum(result.seconds for result in found.results)
    met = (
        f"all {count} proofs hold" if not found.missed else f"{found.missed} of {count} are MISSED"
    )
    return f"{met} on this machine ({seconds:.0f} s)"
