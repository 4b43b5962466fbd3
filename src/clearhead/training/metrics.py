"""Measurements of a run: one step, means of many, its progress, memory, and metrics.jsonl.

metrics.jsonl has one JSON object a line; the last key of a line is the CRC-32 of the line
without it.
"""

import json
import logging
import math
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from clearhead.errors import UserError
from clearhead.files import atomic_write

log = logging.getLogger("clearhead.train")


@dataclass(frozen=True)
class StepReport:
    """The measurements of one optimizer step."""

    step: int
    epoch: int
    loss: float  # smoothed, nats per token
    nll: float  # negative log-likelihood, nats per token
    lr: float
    grad_norm: float  # before clipping
    tokens: int  # predicted tokens
    seconds: float
    finite: bool  # False: the step was skipped


@dataclass
class Meter:
    """Sums since the last line of the log.

    They are part of the checkpoint: the first line after a resume is the one that an
    uninterrupted run would have written.
    """

    loss: float = 0.0
    nll: float = 0.0
    counted: int = 0  # tokens of the steps that were not skipped
    tokens: int = 0
    steps: int = 0
    seconds: float = 0.0

    def add(self, report: StepReport) -> None:
        """Add a step; the losses of a skipped step are left out of the means."""
        self.tokens += report.tokens
        self.steps += 1
        self.seconds += report.seconds
        if report.finite:
            self.loss += report.loss * report.tokens
            self.nll += report.nll * report.tokens
            self.counted += report.tokens

    def values(self) -> dict[str, float]:
        """Means per token; NaN if every step was skipped."""
        tokens = self.counted or math.nan
        return {
            "loss": self.loss / tokens,
            "ppl": perplexity(self.nll / tokens),
            "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
        }


@dataclass
class Progress:
    """How far a run is, as plain values: the part of a checkpoint that is not tensors."""

    step: int = 0
    data: dict[str, int] = field(default_factory=dict)  # position in the batches
    best: float | None = None  # value of the metric; higher is better
    best_loss: float = math.inf  # at that step
    best_step: int = 0
    evaluations_since_best: int = 0
    dev: dict[str, float] = field(default_factory=dict)  # the newest validation
    evaluated_at: int = 0  # the step of the newest validation
    averaged_at: int = -1  # the step after which the snapshots were averaged
    skipped: int = 0  # steps whose gradient was not finite
    skipped_in_a_row: int = 0
    seconds: float = 0.0  # spent on steps, over all resumptions
    tokens: int = 0  # predicted tokens
    meter: Meter = field(default_factory=Meter)


class MetricsFile:
    """metrics.jsonl; on a resumption, records later than the checkpoint are removed."""

    def __init__(self, directory: Path, progress: Progress) -> None:
        self.path = directory / "metrics.jsonl"
        records, damaged = _read(self.path)
        if damaged:
            kept = self.path.with_name("metrics.damaged.jsonl")
            atomic_write(kept, self.path.read_bytes())
            log.warning(
                "%s is damaged in line %s, which is left out; the file as it was is kept in %s",
                self.path,
                ", ".join(map(str, damaged)),
                kept.name,
            )
        self.records = [record for record in records if _is_covered(record, progress)]
        newest = max((record["step"] for record in self.records), default=0)
        if newest < progress.step - progress.meter.steps:
            log.warning(
                "%s ends at step %d and the checkpoint is of step %d; curves.png will have a gap",
                self.path,
                newest,
                progress.step,
            )
        atomic_write(self.path, "".join(_line(record) for record in self.records))

    def append(self, kind: str, step: int, values: dict[str, float]) -> None:
        """Write one record; kind is `train`, `dev` or `average`.

        Raises:
            UserError: the disk is full, or the directory is missing.
        """
        finite = {key: value if math.isfinite(value) else None for key, value in values.items()}
        record = {"kind": kind, "step": step, **finite}
        self.records.append(record)
        try:
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(_line(record))
        except OSError as error:
            raise UserError(
                f"cannot write {self.path}: {error.strerror or error}; free some space and resume "
                "(the last checkpoint is untouched)"
            ) from error


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The records of a run; damaged and incomplete lines are left out."""
    return _read(path)[0]


def perplexity(nats: float) -> float:
    """exp of the loss per token, limited so that it does not overflow."""
    return math.exp(min(50.0, nats)) if nats == nats else math.nan


def clock(seconds: float) -> str:
    """12:34 or 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def peak_memory() -> str:
    """The largest memory of this process, and of the GPU if there is one, as text."""
    parts = [f"{host:.1f} GB"] if (host := peak_resident()) else []
    if torch.cuda.is_available():
        parts.append(f"{torch.cuda.max_memory_allocated() / 1e9:.1f} GB on the GPU")
    return " and ".join(parts) or "unknown"


def peak_resident() -> float:
    """The largest resident memory in gigabytes; 0 if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows has none
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def _read(path: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """The records, and the numbers of damaged lines."""
    if not path.exists():
        return [], []
    *lines, last = path.read_text(encoding="utf-8", errors="replace").split("\n")
    parsed = [_parsed(line) for line in lines]
    damaged = [number for number, record in enumerate(parsed, start=1) if record is None]
    records = [record for record in (*parsed, _parsed(last)) if record is not None]
    return records, damaged


def _parsed(line: str) -> dict[str, Any] | None:
    """The record without its checksum, or None if the line is damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
        return None
    # Lines written by earlier versions have no checksum.
    if "crc32" in record and record.pop("crc32") != _crc32(record):
        return None
    return record if isinstance(record.get("step"), int) else None


def _is_covered(record: dict[str, Any], progress: Progress) -> bool:
    """Whether the checkpoint was written after the record."""
    latest = {"average": progress.averaged_at, "dev": progress.evaluated_at}
    return bool(record["step"] <= latest.get(record["kind"], progress.step))


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record | {"crc32": _crc32(record)}, ensure_ascii=False) + "\n"


def _crc32(record: dict[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(record, ensure_ascii=False).encode()):08x}"
