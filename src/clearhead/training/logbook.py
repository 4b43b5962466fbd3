"""The records of a run, metrics.jsonl: one JSON object a line, each step once."""

import json
import math
from pathlib import Path
from typing import Any

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.training.checkpoint import Progress


class Logbook:
    """Writes records as they come; after a resume, records beyond the checkpoint are dropped."""

    def __init__(self, directory: Path, progress: Progress) -> None:
        self.path = directory / "metrics.jsonl"
        self.records = [r for r in read_metrics(self.path) if _stands(r, progress)]
        atomic_write(self.path, "".join(_line(record) for record in self.records))

    def record(self, kind: str, step: int, values: dict[str, float]) -> None:
        """Add one record: kind is `train`, `dev` or `average`.

        Raises:
            UserError: the disk is full, or the directory has gone.
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
    """The records of a run; a line that a kill cut short is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    records = [_parsed(line) for line in lines]
    return [r for r in records if isinstance(r, dict) and {"kind", "step"} <= r.keys()]


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _stands(record: dict[str, Any], progress: Progress) -> bool:
    """Whether the checkpoint knows of the record."""
    if record["kind"] == "average":
        return bool(record["step"] <= progress.averaged_at)
    return bool(record["step"] <= progress.step)


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
