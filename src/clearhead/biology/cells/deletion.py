"""Deleting a gene in silico: how far the cell's vector moves (Theodoris et al. 2023)."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from clearhead.biology.cells.ranking import without
from clearhead.biology.predicting import Predictor
from clearhead.data.sequences import Record


class Shift(NamedTuple):
    """Of one cell: 1 - cosine of its vectors before and after; 0 means no effect."""

    name: str
    distance: float


def deletion_shifts(predictor: Predictor, records: Iterable[Record], gene: str) -> Iterator[Shift]:
    """The shift of every cell that expresses the gene; the other cells are left out."""
    for record in records:
        if not any(part.rpartition(":")[0] == gene for part in record.sequence.split()):
            continue
        changed = record._replace(sequence=without(record.sequence, gene))
        (_, before), (_, after) = predictor.vectors([record, changed])
        cosine = before @ after / (np.linalg.norm(before) * np.linalg.norm(after))
        yield Shift(record.name, float(1 - cosine))
