"""Cells by genes: AnnData's `.h5ad`, and 10x Genomics' matrix.mtx, features.tsv, barcodes.tsv.

The values are counts, or the logarithm of counts per 10,000. A cell is written as `GENE:VALUE
GENE:VALUE …`, the values per 10,000 of the cell's total.
"""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.data.lines import open_binary, read_lines
from clearhead.data.sequences import Record
from clearhead.errors import UserError

SUFFIX = ".h5ad"
LABELS = ("cell_type", "label", "labels", "bulk_labels", "louvain")
COUNTED = 200  # cells that are looked at to tell what the values are
TOTAL = 10_000.0
Floats = NDArray[np.float64]


def write_cell(genes: Sequence[str], values: Floats) -> str:
    """The genes of one cell that have a value, in the order of the file."""
    found = np.flatnonzero(values).tolist()
    return " ".join(f"{genes[i]}:{float(values[i])!r}" for i in found)


def read_cell(text: str) -> tuple[list[str], Floats]:
    """Genes and values of a cell.

    Raises:
        UserError: the text is no cell.
    """
    pairs = [part.rpartition(":") for part in text.split()]
    try:
        return [name for name, _, _ in pairs], np.array([float(value) for _, _, value in pairs])
    except ValueError as error:
        raise UserError(f"{text[:40]!r} is not a cell; expected GENE:VALUE pairs") from error


def read_cells(path: str | Path, label: str = "") -> Iterator[Record]:
    """One record a cell, its label from a column of `obs`.

    Values come from `layers["counts"]`, `raw.X` or `X`, the first whose values are counts or the
    logarithm of counts per 10,000. The genes are called by `var["ensembl_id"]`, or by their index.

    Raises:
        UserError: anndata is not installed, the file is not read, no matrix holds counts, or there
            is no such column.
    """
    data = _open(path)
    column = _label_column(data, label, path)
    matrix, names, is_log = _matrix(data, path)
    totals = data.obs["n_counts"].to_numpy(np.float64) if "n_counts" in data.obs else None
    for row in range(matrix.shape[0]):
        values = _dense(matrix[row])
        if is_log:
            values = np.expm1(values)  # counts / total * 10,000 again
        else:
            total = values.sum() if totals is None else totals[row]
            values = values / max(1.0, total) * TOTAL
        name = str(data.obs_names[row])
        if not values.any():
            raise UserError(f"{path}, cell {name!r}: no gene is expressed; remove the cell")
        said = None if column is None else str(data.obs[column].iloc[row])
        yield Record(f"{path}, cell {name!r}", name, write_cell(names, values), said)


def _open(path: str | Path) -> Any:
    try:
        import anndata
    except ImportError as error:
        raise UserError(f"{path}: .h5ad needs anndata: pip install 'clearhead[bio]'") from error
    try:
        with warnings.catch_warnings():  # of forms of older versions, which are read all the same
            warnings.simplefilter("ignore", FutureWarning)
            return anndata.read_h5ad(path)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise UserError(f"cannot read {path} as .h5ad ({error}); copy or save it again") from error


def _label_column(data: Any, wanted: str, path: str | Path) -> str | None:
    if wanted and wanted not in data.obs:
        raise UserError(f"{path}: obs has no column {wanted!r} among {', '.join(data.obs)}")
    return wanted or next((name for name in LABELS if name in data.obs), None)


def _matrix(data: Any, path: str | Path) -> tuple[Any, list[str], bool]:
    """The first matrix whose values can be used, the genes of its columns, whether it is log."""
    offered = [("X", data.X, data.var)]
    if data.raw is not None:
        offered.insert(0, ("raw.X", data.raw.X, data.raw.var))
    if "counts" in data.layers:
        offered.insert(0, ('layers["counts"]', data.layers["counts"], data.var))
    reasons = []
    for name, matrix, genes in offered:
        what = kind_of_values(np.stack([_dense(matrix[i]) for i in range(min(COUNTED, len(data)))]))
        if what in ("counts", "log"):
            called = genes.get("ensembl_id", genes.index)
            return matrix, [str(gene) for gene in called], what == "log"
        reasons.append(f"{name}: {what}")
    raise UserError(
        f"{path} holds no counts ({'; '.join(reasons)}); rank values need counts, or the logarithm "
        "of counts per 10,000: save them as layers['counts'] or raw"
    )


def kind_of_values(values: Floats) -> str:
    """`counts`, `log` (of counts per 10,000), or why it is neither.

    Shape: (cells, genes)
    """
    if not np.isfinite(values).all():
        return "not finite"
    if (values < 0).any():
        return "scaled, since values are negative"
    if (values == np.round(values)).all():
        return "counts"
    for row in np.expm1(np.minimum(values, 50.0)):
        expressed = row[row > 0]
        if not len(expressed):
            continue
        # Counts that were divided by one total are multiples of the value of a single count.
        multiples = expressed / expressed.min()
        if np.abs(multiples - np.round(multiples)).max() > 0.01 * multiples.max():
            return "neither whole numbers nor their logarithm per 10,000"
    return "log"


def _dense(row: Any) -> Floats:
    dense = row.toarray() if hasattr(row, "toarray") else row
    return np.asarray(dense, dtype=np.float64).ravel()


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
