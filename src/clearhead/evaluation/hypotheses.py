"""Files of hypotheses: one translation a line, detokenised, in the order of the test set."""

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from clearhead.data.corpus import named_corpora
from clearhead.data.lines import read_lines
from clearhead.errors import UserError
from clearhead.files import atomic_write


def read_hypotheses(path: str | Path, lines: int, limited: bool = False) -> list[str]:
    """The lines of a file that answer a test set; with `limited`, only as many as are wanted.

    Raises:
        UserError: the file cannot be read, or has not as many lines as the test set.
    """
    found = list(islice(read_lines(path), lines if limited else None))
    if len(found) != lines:
        raise UserError(
            f"{path} has {len(found)} lines and the test set has {lines}; expected one "
            "line for each pair, blank ones included, in the order of the test set"
        )
    return found


def write_hypotheses(path: str | Path, hypotheses: Sequence[str]) -> None:
    """Write one hypothesis a line, whole or not at all."""
    atomic_write(path, "".join(f"{line}\n" for line in hypotheses))


def check_writable(path: Path) -> None:
    """Say now what would otherwise be said after the work is done.

    Raises:
        UserError: `path` is a directory, or stands where nobody may write.
    """
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a directory; give the name of a file")
    existing = next(p for p in (path.parent, *path.parent.absolute().parents) if p.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise UserError(
            f"cannot write {path}: {existing} is no directory that you may write to; "
            "give another place with --output FILE"
        )


def default_name(data: str, model: str | Path | None, others: int = 0) -> Path:
    """`DATA.MODEL.hyp`, so that two models on one test set are kept side by side.

    `data/test.tsv` and `runs/mine/best` make `test.mine-best.hyp`; `grammar:test:1000`
    and no model of one's own, `grammar-test-1000.shipped.hyp`; `a.tsv + b.tsv`, `a+b.shipped.hyp`.
    Two `others` in an ensemble with it make `shipped+2`.
    """
    name = _model_name(Path(model)) if model else "shipped"
    return Path(f"{_data_name(data)}.{name}{f'+{others}' if others else ''}.hyp")


def _data_name(data: str) -> str:
    return "+".join(map(_corpus_name, named_corpora(data)))


def _corpus_name(data: str) -> str:
    if re.match(r"(hf|grammar):", data):
        return re.sub(r"[^\w.-]+", "-", data)
    first = Path(data.split(",")[0]).name
    return first.split(".")[0] or "data"


def _model_name(model: Path) -> str:
    resolved = model.resolve()
    if resolved.name in ("best", "last"):  # the name that says something is that of the run
        return f"{resolved.parent.name}-{resolved.name}"
    return resolved.name or "model"
