"""`clearhead compare keras`: what is equal and what differs, as text, Markdown or JSON."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import torch

from clearhead.compare.keras_attention import call_differences, weight_differences
from clearhead.compare.keras_attention.difference import Difference
from clearhead.compare.proofs import keras as proofs
from clearhead.compare.proofs import verification
from clearhead.compare.results import as_json, markdown_table
from clearhead.compare.timing import keras_on

EQUAL = "Equal with converted weights: the largest absolute difference of any element"
DIFFERENT = "Different, although the function is the same: each cell was measured now"


@dataclass(frozen=True)
class Report:
    """The versions, the results of the proofs, and the differing conventions."""

    versions: dict[str, str]
    results: list[verification.Result]
    differences: list[Difference]


def compare_keras() -> Report:
    """Run all proofs and demonstrations; takes a few seconds.

    Raises:
        UserError: Keras is not installed, or was already imported with another backend.
    """
    with keras_on("cpu") as keras, torch.random.fork_rng(devices=[]):
        torch.manual_seed(verification.SEED)
        versions = {"keras": keras.__version__, "torch": str(torch.__version__)}
        results = list(verification.run_proofs("keras", proofs.proofs()))
        return Report(versions, results, list(differences()))


def differences() -> Iterator[Difference]:
    """Every row of the table, measured now."""
    for measure in (*weight_differences.ROWS, *call_differences.ROWS):
        yield measure()


def show(report: Report, format: verification.Format) -> str:
    """The report in this format."""
    if format == "json":
        return _json(report)
    return "\n".join(_markdown(report) if format == "md" else _text(report)) + "\n"


def _text(report: Report) -> Iterator[str]:
    yield f"{EQUAL} (outputs, gradients).\n"
    yield from verification.text_rows(report.results)
    yield f"\n{DIFFERENT}."
    for row in report.differences:
        yield f"\n{row.topic}"
        yield f"    Keras      {row.keras}"
        yield f"    torch.nn   {row.torch}"
        yield f"    clearhead  {row.clearhead}"
        yield f"    → {row.so}"
    yield f"\n{_versions(report)}"


def _markdown(report: Report) -> Iterator[str]:
    yield f"{EQUAL}.\n"
    yield from verification.markdown_rows(report.results)
    yield f"\n{DIFFERENT}.\n"
    rows = [[row.topic, row.keras, row.torch, row.clearhead, row.so] for row in report.differences]
    yield from markdown_table(["", "Keras", "torch.nn", "clearhead", "so"], rows, align="left")
    yield f"\n{_versions(report)}"


def _json(report: Report) -> str:
    record = {
        "versions": report.versions,
        "proofs": verification.json_rows(report.results),
        "differences": [asdict(row) for row in report.differences],
    }
    return as_json(verification.FORMAT_VERSION, record)


def _versions(report: Report) -> str:
    return ", ".join(f"{name} {version}" for name, version in report.versions.items())
