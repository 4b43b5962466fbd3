"""Verdicts for eyes, for a page and for a program."""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from clearhead.compare.hardware import Machine, describe_machine
from clearhead.compare.proofs.peers import PEERS
from clearhead.compare.proofs.verifying import Verdict, Verification

FORMAT_VERSION = 1
NONE = "—"
LEGEND = (
    "outputs, gradients: the largest difference of any number found now; "
    f"{NONE}: nothing learns there (decoding, optimisers, exports, weights that are only watched)"
)
Format = Literal["text", "md", "json"]


def show(found: Verification, format: Format) -> str:
    """In this form, with a line at the end."""
    machine = describe_machine()
    if format == "json":
        return as_json(found, machine)
    lines = as_markdown(found, machine) if format == "md" else as_text(found, machine)
    return "\n".join(lines) + "\n"


def as_text(found: Verification, machine: Machine) -> Iterator[str]:
    """A block a peer."""
    for peer, versions in found.versions.items():
        yield f"{peer}: {PEERS[peer].title} ({versions})"
        yield f"  {'':6} {'in':8} {'outputs':>8} {'gradients':>9}  {'bound':9} claim"
        yield from text_rows(v for v in found.verdicts if v.peer == peer)
        yield ""
    yield LEGEND
    yield f"{machine}"
    yield from found.remarks
    yield summary(found)


def text_rows(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """The claim last: it is the only one of its width."""
    for verdict in verdicts:
        outputs, gradients = numbers(verdict)
        precision, bound = verdict.proof.precision, verdict.proof.bound
        note = f" ({verdict.finding.note})" if verdict.finding.note else ""
        yield (
            f"  {word(verdict):6} {precision:8} {outputs:>8} {gradients:>9}  ≤ {small(bound):<7} "
            f"{verdict.proof.claim}{note}"
        )


def as_markdown(found: Verification, machine: Machine) -> Iterator[str]:
    """A table a peer."""
    yield f"Machine: {machine}."
    for peer, versions in found.versions.items():
        yield f"\n### {peer}: {PEERS[peer].title} ({versions})\n"
        yield from markdown_rows(v for v in found.verdicts if v.peer == peer)
    yield ""
    yield from (f"- {remark}" for remark in [LEGEND, *found.remarks, summary(found)])


def markdown_rows(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """With the head of the table."""
    yield "| ours | theirs | in | outputs | gradients | bound | |"
    yield "|---|---|---|---:|---:|---:|---|"
    for v in verdicts:
        outputs, gradients = numbers(v)
        note = f"; {v.finding.note}" if v.finding.note else ""
        yield (
            f"| {v.proof.ours} | {v.proof.sign} {v.proof.theirs} | {v.proof.precision} | {outputs} "
            f"| {gradients} | {small(v.proof.bound)} | {word(v)}{note} |"
        )


def as_json(found: Verification, machine: Machine) -> str:
    """Everything; a number that is none is null, and its bound is missed."""
    record = {
        "format_version": FORMAT_VERSION,
        "machine": str(machine),
        "versions": found.versions,
        "left_out": found.remarks,
        "missed": found.missed,
        "proofs": json_rows(found.verdicts),
    }
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def json_rows(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """One record a proof."""
    return [
        {
            "peer": v.peer,
            "ours": v.proof.ours,
            "theirs": v.proof.theirs,
            "equal": v.proof.sign == "=",
            "precision": v.proof.precision,
            "outputs": _finite(v.finding.outputs),
            "gradients": _finite(v.finding.gradients),
            "unlike": v.finding.unlike,
            "note": v.finding.note,
            "bound": v.proof.bound,
            "met": v.met,
            "seconds": round(v.seconds, 3),
        }
        for v in verdicts
    ]


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def numbers(verdict: Verdict) -> tuple[str, str]:
    """The largest differences of outputs and of gradients."""
    gradients = verdict.finding.gradients
    return small(verdict.finding.outputs), NONE if gradients is None else small(gradients)


def small(number: float) -> str:
    """0 where not a bit differs."""
    return f"{number:.1e}" if number else "0"


def word(verdict: Verdict) -> str:
    """In one word."""
    return "met" if verdict.met else "MISSED"


def summary(found: Verification) -> str:
    """The last line."""
    count = len(found.verdicts)
    seconds = sum(verdict.seconds for verdict in found.verdicts)
    met = (
        f"all {count} proofs hold" if not found.missed else f"{found.missed} of {count} are MISSED"
    )
    return f"{met} on this machine ({seconds:.0f} s)"
