"""Cells by genes: AnnData's `.h5ad`, and 10x Genomics' matrix.mtx, features.tsv, barcodes.tsv.

The values are counts, or the logarithm of counts per 10,000. A cell is written as `GENE:VALUE
GENE:VALUE …`, the values per 10,000 of the cell's total.
"""

import logging
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.data.lines import open_binary, read_lines
from clearhead.data.sequences import MISSING, USUAL, Record
from clearhead.errors import UserError

log = logging.getLogger("clearhead.data")
SUFFIX = ".h5ad"
LABELS = ("cell_type", "label", "labels", "bulk_labels", "louvain")
COUNTED = 200  # cells that are looked at to tell what the values are
LARGEST_LOG = 14.0  # the logarithm of a million
TOTAL = 10_000.0
Floats = NDArray[np.float64]


def write_cell(genes: Sequence[str], values: Floats) -> str:
    """The genes of one cell that have a value, in the order of the file."""
    found = np.flatnonzero(values).tolist()
    return " ".join(f"{genes[i]}:{float(values[i])!r}" for i in found)


def read_cell(text: str) -> tuple[list[str], Floats]:
    """Genes and values of a cell, or a UserError for another text."""
    found: dict[str, float] = {}
    for part in text.split():
        name, _, value = part.rpartition(":")
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not name or name in found or not 0 < number < np.inf:
            raise UserError(
                f"{part[:40]!r} is not a GENE:VALUE pair; expected each gene once, with a "
                "value above 0"
            )
        found[name] = number
    return list(found), np.array(list(found.values()))


def read_cells(path: str | Path, label: str = "", split: str = "") -> Iterator[Record]:
    """One record a cell, its label and its part of the data from columns of `obs`.

    Values come from `layers["counts"]`, `raw.X` or `X`, the first whose values are counts or the
    logarithm of counts per 10,000. The genes are called by `var["ensembl_id"]`, or by their index;
    a gene without an id counts in the totals alone.

    Raises:
        UserError: anndata is not installed, the file is not read, no matrix holds counts, two
            genes have the same name, or there is no such column.
    """
    data = _open(path)
    labels = _texts(data, label, LABELS, path)
    parts = _texts(data, split, [name for name in USUAL["split"] if name != label.lower()], path)
    matrix, genes, is_log = _matrix(data, path)
    has_id = np.array([gene is not None for gene in genes], dtype=bool)
    names = checked_genes([gene for gene in genes if gene is not None], path)
    totals = None if is_log else _totals(data, path)
    for row in range(matrix.shape[0]):
        values, name = _dense(matrix[row]), str(data.obs_names[row])
        place = f"{path}, cell {name!r}"
        if not np.isfinite(values).all() or (values < 0).any():
            raise UserError(f"{place}: a value is negative or not finite; remove the cell")
        if is_log:
            values = np.expm1(values)  # counts / total * 10,000 again
        else:
            total = values.sum() if totals is None else totals[row]
            values = values / max(1.0, total) * TOTAL
        cell = write_cell(names, values[has_id])
        yield Record(place, name, cell, labels[row] or None, parts[row])


def expressed(cells: Iterable[Record], path: str | Path) -> Iterator[Record]:
    """The cells with a gene; a warning counts the others, which no rank describes."""
    empty = 0
    for cell in cells:
        if cell.sequence:
            yield cell
        empty += not cell.sequence
    if empty:
        log.warning("%s: cells without any expressed gene are left out: %d", path, empty)


def _open(path: str | Path) -> Any:
    try:
        import anndata
    except ImportError as error:
        raise UserError(f"{path}: .h5ad needs anndata: pip install 'clearhead[bio]'") from error
    if str(path).endswith(".gz"):
        raise UserError(f"{path}: .h5ad.gz cannot be read; decompress it with gunzip first")
    try:
        with warnings.catch_warnings():  # of older forms, and of names that are checked here
            warnings.simplefilter("ignore")
            data = anndata.read_h5ad(path)
    except Exception as error:  # the package raises many kinds for a damaged file
        raise UserError(f"cannot read {path} as .h5ad ({error}); copy or save it again") from error
    if not data.n_obs:
        raise UserError(f"{path} holds no cell; expected one or more")
    return data


def _texts(data: Any, wanted: str, usual: Sequence[str], path: str | Path) -> Sequence[str | None]:
    """A column of obs, empty where it says nothing; None for each cell if there is no column."""
    if wanted and wanted not in data.obs:
        raise UserError(f"{path}: obs has no column {wanted!r}; give one of {', '.join(data.obs)}")
    by_lower_case = {str(name).lower(): name for name in reversed(data.obs.columns)}
    column = wanted or next((by_lower_case[n] for n in usual if n in by_lower_case), None)
    if column is None:
        return [None] * data.n_obs
    values, unknown = data.obs[column].astype(object), data.obs[column].isna()
    texts = ["" if no else str(value).strip() for value, no in zip(values, unknown, strict=True)]
    return ["" if text in MISSING else text for text in texts]


def _totals(data: Any, path: str | Path) -> Floats | None:
    """The counts of each cell over all genes, those not in the file included; each above 0."""
    if "n_counts" not in data.obs:
        return None
    try:
        totals = data.obs["n_counts"].to_numpy(np.float64)
    except ValueError:
        totals = np.zeros(data.n_obs)
    if wrong := np.flatnonzero(~(totals > 0)).tolist():
        cell, value = data.obs_names[wrong[0]], data.obs["n_counts"].iloc[wrong[0]]
        raise UserError(
            f"{path}, cell {cell!r}: obs['n_counts'] is {value}, expected the cell's total count; "
            "correct or remove the column"
        )
    return np.asarray(totals)


def checked_genes(names: list[str], path: str | Path) -> list[str]:
    """The names of genes; a UserError unless each occurs once and has no white space."""
    seen: set[str] = set()
    for name in names:
        if len(name.split()) != 1:
            raise UserError(f"{path}: the gene {name!r} has white space in its name; rename it")
        if name in seen:
            raise UserError(
                f"{path}: the gene {name!r} occurs twice; add the columns up, or give each a name "
                "of its own (var_names_make_unique)"
            )
        seen.add(name)
    return names


def _matrix(data: Any, path: str | Path) -> tuple[Any, list[str | None], bool]:
    """The first matrix whose values can be used, the genes of its columns, whether it is log."""
    offered = [] if data.X is None else [("X", data.X, data.var)]
    if data.raw is not None:
        offered.insert(0, ("raw.X", data.raw.X, data.raw.var))
    if "counts" in data.layers:
        offered.insert(0, ('layers["counts"]', data.layers["counts"], data.var))
    reasons = []
    for name, matrix, genes in offered:
        what = kind_of_values(np.stack([_dense(matrix[i]) for i in range(min(COUNTED, len(data)))]))
        if what in ("counts", "log"):
            called = genes.get("ensembl_id", genes.index)
            names = [
                None if no else str(gene) for gene, no in zip(called, called.isna(), strict=True)
            ]
            return matrix, [name or None for name in names], what == "log"
        reasons.append(f"{name}: {what}")
    raise UserError(
        f"{path} holds no counts ({'; '.join(reasons) or 'no X'}); ranking genes needs counts, or "
        "the logarithm of counts per 10,000: save them as layers['counts'] or raw"
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
    if values.max(initial=0.0) > LARGEST_LOG:
        return "neither whole numbers nor their logarithm per 10,000"
    for row in filter(np.any, np.expm1(values)):
        # Counts that were divided by one total are multiples of the value of a single count.
        multiples = row / row[row > 0].min()
        if np.abs(multiples - np.round(multiples)).max() > 0.01 * multiples.max():
            return "neither whole numbers nor their logarithm per 10,000"
    if _multiples(np.exp2(values) - 1) and not _multiples(np.expm1(values)):
        return "the logarithm to base 2, expected the natural one"
    return "log"


def _multiples(values: Floats) -> bool:
    """Whether most cells have whole multiples of their smallest value."""
    rows = (row[row > 0] / row[row > 0].min() for row in filter(np.any, values))
    errors = [np.abs(row / np.round(row) - 1).max() for row in rows]
    return bool(np.median(errors or [0.0]) < 0.01)


def _dense(row: Any) -> Floats:
    dense = row.toarray() if hasattr(row, "toarray") else row
    return np.asarray(dense, dtype=np.float64).ravel()


ENDING = ".mtx"
GENES, CELLS = ("features.tsv", "genes.tsv"), ("barcodes.tsv",)


def read_mtx(path: str | Path, known: Collection[str] = ()) -> Iterator[Record]:
    """One record a cell, without label.

    Genes are called by the column of their file that has most of the `known` names, else by the
    first; a name that several genes share is replaced by that in the first column.

    Raises:
        UserError: scipy is not installed, a file beside the matrix is missing or of another
            length, or the values are no counts.
    """
    matrix = _counts_of_mtx(path)
    rows = _rows(Path(path), GENES, matrix.shape[0], "rows")
    names = max(zip(*rows, strict=False), key=lambda names: len({*known} & {*names}), default=())
    count = Counter(names)
    own = [name if count[name] == 1 else row[0] for name, row in zip(names, rows, strict=True)]
    genes = checked_genes(own, path)
    cells = [row[0] for row in _rows(Path(path), CELLS, matrix.shape[1], "columns")]
    by_cell = matrix.tocsc()
    kind = kind_of_values(by_cell[:, :COUNTED].toarray().T)
    if kind != "counts":
        raise UserError(f"{path} holds no counts: {kind}; give the matrix before normalization")
    for number, name in enumerate(cells):
        values = by_cell[:, number].toarray().ravel().astype(np.float64)
        cell = write_cell(genes, values / max(1.0, values.sum()) * TOTAL)
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


def _rows(path: Path, usual: tuple[str, ...], count: int, what: str) -> list[list[str]]:
    """The cells of the file beside the matrix that has a usual name."""
    every = [path.parent / f"{name}{end}" for name in usual for end in ("", ".gz")]
    found = next((file for file in every if file.exists()), None)
    if found is None:
        raise UserError(f"{path}: {' or '.join(usual)} is missing; put it in the same directory")
    rows = [[cell.strip() for cell in line.split("\t")] for line in read_lines(found)]
    rows = [row for row in rows if row[0]]
    if len(rows) != count:
        raise UserError(f"{found} has {len(rows)} names, but {path} has {count} {what}; correct it")
    return rows
