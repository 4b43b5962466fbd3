"""Cells from a sparse matrix as 10x Genomics writes it: matrix.mtx, features.tsv, barcodes.tsv."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from clearhead.data.h5ad import TOTAL, kind_of_values, write_cell
from clearhead.data.lines import open_binary, read_lines
from clearhead.data.sequences import Record
from clearhead.errors import UserError

ENDING = ".mtx"
GENES, CELLS = ("features.tsv", "genes.tsv"), ("barcodes.tsv",)


def read_mtx(path: str | Path) -> Iterator[Record]:
    """One record a cell, without label; genes are called by the first column of their file.

    Raises:
        UserError: scipy is not installed, a file beside the matrix is missing or of another
            length, or the values are no counts.
    """
    matrix = _counts_of_mtx(path)
    genes = _names(Path(path), GENES, matrix.shape[0], "rows")
    cells = _names(Path(path), CELLS, matrix.shape[1], "columns")
    by_cell = matrix.tocsc()
    kind = kind_of_values(by_cell[:, :COUNTED].toarray().T)
    if kind != "counts":
        raise UserError(f"{path} holds no counts: {kind}; rank values need counts")
    for number, name in enumerate(cells):
        values = by_cell[:, number].toarray().ravel().astype(np.float64)
        if not values.any():
            raise UserError(f"{path}, cell {name!r}: no gene is expressed; remove the cell")
        cell = write_cell(genes, values / values.sum() * TOTAL)
        yield Record(f"{path}, cell {name!r}", name, cell)


def _counts_of_mtx(path: str | Path) -> Any:
    try:
        from scipy.io import mmread
        from scipy.sparse import coo_matrix
    except ImportError as error:
        raise UserError(f"{path}: .mtx needs scipy: pip install 'clearhead[bio]'") from error
    try:
        with open_binary(path) as stream:
            return coo_matrix(mmread(stream))
    except (ValueError, TypeError, OverflowError) as error:
        raise UserError(f"cannot read {path} as Matrix Market ({error}); copy it again") from error


def _names(path: Path, usual: tuple[str, ...], count: int, what: str) -> list[str]:
    """The first column of the file beside the matrix that has a usual name."""
    every = [path.parent / f"{name}{end}" for name in usual for end in ("", ".gz")]
    found = next((file for file in every if file.exists()), None)
    if found is None:
        raise UserError(f"{path}: there is no {' or '.join(usual)} beside it, perhaps with .gz")
    names = [line.split("\t")[0].strip() for line in read_lines(found)]
    names = [name for name in names if name]
    if len(names) != count:
        raise UserError(f"{found} has {len(names)} names, and {path} has {count} {what}")
    return names
