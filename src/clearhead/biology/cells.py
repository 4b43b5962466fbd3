r"""Single cells: genes in order of rank, genes deleted in silico, cells in two dimensions.

Geneformer's rank-value encoding (Theodoris et al. 2023) makes a sentence of a cell:

.. math:: v_g = \frac{\text{count}_g}{\sum_h \text{count}_h} \cdot 10{,}000 \;/\; m_g

with :math:`m_g` the median of the numerator's non-zero values over all training cells. Genes with
a value are sorted, the highest first. Why divide by the median: housekeeping genes are high in
every cell and say little; a gene that is high by its own standard says much.

A cell is written as `GENE:VALUE GENE:VALUE …` with values before the division, so the medians can
be fitted on the training cells alone.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearhead.data.h5ad import read_cell
from clearhead.data.sequences import Record
from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.biology.predicting import Predictor

FEWEST = 10  # cells of a UMAP


def fit_medians(cells: Iterable[str]) -> dict[str, float]:
    """The median of each gene's non-zero values, in the order of the genes' names."""
    values: dict[str, list[float]] = {}
    for cell in cells:
        for name, value in zip(*read_cell(cell), strict=True):
            values.setdefault(name, []).append(float(value))
    return {name: float(np.median(values[name])) for name in sorted(values)}


def ranked(cell: str, medians: dict[str, float]) -> list[str]:
    """The genes of a cell by value / median, the highest first.

    Genes without a median are left out; equal values stay in the order of the file.
    """
    names, values = read_cell(cell)
    known = [i for i, name in enumerate(names) if name in medians]
    scaled = values[known] / np.array([medians[names[i]] for i in known])
    return [names[known[i]] for i in np.argsort(-scaled, kind="stable")]


def without(cell: str, gene: str) -> str:
    """The cell after deletion of a gene in silico.

    Raises:
        UserError: the cell does not express it.
    """
    kept = [part for part in cell.split() if part.rpartition(":")[0] != gene]
    if len(kept) == len(cell.split()):
        raise UserError(f"the cell does not express {gene}; nothing can be deleted")
    return " ".join(kept)


class Shift(NamedTuple):
    """Of one cell: 1 - cosine of its vectors before and after; 0 means no effect."""

    name: str
    distance: float


def deletion_shifts(
    predictor: "Predictor", records: Iterable[Record], gene: str
) -> Iterator[Shift]:
    """The shift of every cell that expresses the gene, beside others; the rest are left out.

    Raises:
        UserError: no cell does, or the model does not know the gene.
    """
    found, known = False, predictor.loaded.vocabulary.ids
    for record in records:
        genes = [part.rpartition(":")[0] for part in record.sequence.split()]
        if gene not in genes or not any(name in known for name in genes if name != gene):
            continue
        if gene not in known:
            raise UserError(
                f"the model does not know {gene}, so it never reads it; give a gene that its "
                "training data has"
            )
        found = True
        changed = record._replace(sequence=without(record.sequence, gene))
        (_, before), (_, after) = predictor.vectors([record, changed])
        cosine = before @ after / (np.linalg.norm(before) * np.linalg.norm(after))
        yield Shift(record.name, float(1 - cosine))
    if not found:
        raise UserError(f"no cell expresses {gene}; give a gene by the name that the data has")


def draw_cells(predictor: "Predictor", records: Iterable[Record], path: Path) -> None:
    """Project every cell's vector and colour it by its label, or by the predicted one.

    Raises:
        UserError: umap-learn is not installed, or there are too few cells.
    """
    from clearhead.explain.plots.biology import draw_points

    try:
        from umap import UMAP
    except ImportError as error:
        raise UserError("UMAP needs umap-learn: pip install 'clearhead[bio]'") from error
    every = list(records)
    if len(every) < FEWEST:
        raise UserError(f"{len(every)} cells are too few for a UMAP; give {FEWEST} or more")
    vectors = np.stack([vector for _, vector in predictor.vectors(every)])
    neighbours = min(15, len(every) - 1)
    places = UMAP(n_neighbors=neighbours, random_state=1, n_jobs=1).fit_transform(vectors)
    if any(record.label is not None for record in every):
        title, labels = "Cells by label", [record.label or "no label" for record in every]
    elif predictor.config.labels:
        found = predictor.predict(every)
        title, labels = "Cells by predicted label", [one.label for one in found]
    else:
        title, labels = "Cells", ["cell"] * len(every)
    draw_points(np.asarray(places, dtype=np.float64), labels, title, path)
