r"""A cell as a sentence of genes: Geneformer's rank-value encoding (Theodoris et al. 2023).

.. math:: v_g = \frac{\text{count}_g}{\sum_h \text{count}_h} \cdot 10{,}000 \;/\; m_g

with :math:`m_g` the median of the numerator's non-zero values over all training cells. Genes with
a value are sorted, the highest first. Why divide by the median: housekeeping genes are high in
every cell and say little; a gene that is high by its own standard says much.

A cell is written as `GENE:VALUE GENE:VALUE …` with values before the division, so the medians can
be fitted on the training cells alone.
"""

from collections.abc import Iterable

import numpy as np

from clearhead.data.h5ad import read_cell
from clearhead.errors import UserError


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
