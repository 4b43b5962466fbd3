"""Sequences in the data files of R packages: mlbench's `DNA.rda`, kernlab's `promotergene.rda`.

Such a file holds a data frame with a column `Class` and a column for each position: a letter, or
in mlbench's splice junctions three columns of 0 and 1 for each base (A 100, C 010, G 001, T 000).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from clearhead.errors import UserError

ENDINGS = (".rda", ".rdata")
BASE_OF = {"100": "A", "010": "C", "001": "G", "000": "T"}
LABEL = "Class"


class Labelled(NamedTuple):
    """A row of a data frame; rows count from 1."""

    number: int
    sequence: str
    label: str


def read_rda(path: str | Path) -> Iterator[Labelled]:
    """The rows of the only data frame of a file, in its order.

    Raises:
        UserError: rdata is not installed, the file is not read, or it holds no such data frame.
    """
    frame = _frame(path)
    columns = [name for name in frame.columns if name != LABEL]
    texts = ("".join(row) for row in frame[columns].astype(str).to_numpy().tolist())
    for number, (text, label) in enumerate(zip(texts, frame[LABEL].astype(str), strict=True), 1):
        sequence = _bases(text) if set(text) <= {"0", "1"} else text.upper()
        yield Labelled(number, sequence, label)


def _frame(path: str | Path) -> Any:
    try:
        import rdata
    except ImportError as error:
        raise UserError(f"{path}: .rda needs rdata: pip install 'clearhead[bio]'") from error
    try:
        found = rdata.read_rda(path, default_encoding="ascii")
    except Exception as error:  # the package raises many kinds for a damaged file
        raise UserError(f"cannot read {path} as R data ({error}); copy it again") from error
    frames = [value for value in found.values() if LABEL in getattr(value, "columns", ())]
    if len(frames) != 1:
        raise UserError(
            f"{path} holds {', '.join(found)}; expected one data frame with a column {LABEL}"
        )
    return frames[0]


def _bases(text: str) -> str:
    return "".join(BASE_OF.get(text[i : i + 3], "N") for i in range(0, len(text), 3))
