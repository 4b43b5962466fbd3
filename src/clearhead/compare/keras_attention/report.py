"""What is equal and what differs between Keras, torch.nn and ours: tried now, then told."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch

from clearhead.compare.keras_attention import calls_differ, masks_differ, weights_differ
from clearhead.compare.keras_attention.difference import Difference
from clearhead.compare.keras_attention.loading import keras_on
from clearhead.compare.proofs import keras as proofs
from clearhead.compare.proofs.report import (
    FORMAT_VERSION,
    Format,
    json_rows,
    markdown_rows,
    text_rows,
)
from clearhead.compare.proofs.verifying import SEED, Verdict, attempts

EQUAL = "Equal, once the weights are converted: the largest difference of any number"
DIFFERENT = (
    "Different, although the function is the same: each cell is what happened when it was tried"
)


@dataclass(frozen=True)
class Report:
    """Which versions were compared, the proofs, and the habits."""

    versions: dict[str, str]
    verdicts: list[Verdict]
    differences: list[Difference]


def compare_keras() -> Report:
    """Try everything; a few seconds.

    Raises:
        UserError: Keras is not installed, or runs on another backend already.
    """
    with keras_on("cpu") as keras, torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        versions = {"keras": keras.__version__, "torch": str(torch.__version__)}
        verdicts = list(attempts("keras", proofs.proofs()))
        return Report(versions, verdicts, list(differences(keras)))


def differences(keras: Any) -> Iterator[Difference]:
    """Every row of the table."""
    yield from weights_differ.rows(keras)
    yield from masks_differ.rows(keras)
    yield from calls_differ.rows(keras)


def show(report: Report, format: Format) -> str:
    """In this form, with a line at the end."""
    if format == "json":
        return _as_json(report)
    return "\n".join(_as_markdown(report) if format == "md" else _as_text(report)) + "\n"


def _as_text(report: Report) -> Iterator[str]:
    yield f"{EQUAL} (outputs, gradients).\n"
    yield from text_rows(report.verdicts)
    yield f"\n{DIFFERENT}."
    for row in report.differences:
        yield f"\n{row.topic}"
        yield f"    Keras      {row.keras}"
        yield f"    torch.nn   {row.torch}"
        yield f"    clearhead  {row.clearhead}"
        yield f"    → {row.so}"
    yield f"\n{_versions(report)}"


def _as_markdown(report: Report) -> Iterator[str]:
    yield f"{EQUAL}.\n"
    yield from markdown_rows(report.verdicts)
    yield f"\n{DIFFERENT}.\n"
    yield "| | Keras | torch.nn | clearhead | so |"
    yield "|---|---|---|---|---|"
    for row in report.differences:
        yield f"| {row.topic} | {row.keras} | {row.torch} | {row.clearhead} | {row.so} |"
    yield f"\n{_versions(report)}"


def _as_json(report: Report) -> str:
    record = {
        "format_version": FORMAT_VERSION,
        "versions": report.versions,
        "proofs": json_rows(report.verdicts),
        "differences": [asdict(row) for row in report.differences],
    }
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def _versions(report: Report) -> str:
    return ", ".join(f"{name} {version}" for name, version in report.versions.items())
