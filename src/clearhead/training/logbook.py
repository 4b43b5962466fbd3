"""What a run tells: a line on the console and in train.log, a record in metrics.jsonl."""

import json
import logging
from pathlib import Path
from typing import Any

from clearhead.files import atomic_write

log = logging.getLogger("clearhead.train")


class Logbook:
    """Writes records as they come; after a resume, records beyond the checkpoint are dropped."""

    def __init__(self, directory: Path, step: int = 0) -> None:
        self.path = directory / "metrics.jsonl"
        kept = [record for record in read_metrics(self.path) if record["step"] <= step]
        atomic_write(self.path, "".join(_line(record) for record in kept))

    def record(self, kind: str, step: int, values: dict[str, Any]) -> None:
        """Add one record: kind is `train` or `dev`."""
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(_line({"kind": kind, "step": step, **values}))


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The records of a run; a last line cut short by a kill is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
