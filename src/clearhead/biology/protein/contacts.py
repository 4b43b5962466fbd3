"""Contacts of a protein, as far as attention shows them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def contacts(attention: Floats, inner: slice) -> Floats:
    r"""A map of pairs from attention: symmetrised, background removed, mean over all heads.

    .. math:: F_{ij} = A_{ij} - \frac{A_{i\cdot} A_{\cdot j}}{A_{\cdot\cdot}}

    The average product correction (Dunn et al. 2008), as ESM's contact prediction applies it.

    Shape: (layers, h, query, key) -> (positions, positions)
    """
    pairs = attention[:, :, inner, inner]
    pairs = pairs + pairs.transpose(0, 1, 3, 2)
    rows, columns = pairs.sum(-1, keepdims=True), pairs.sum(-2, keepdims=True)
    corrected: Floats = pairs - rows * columns / pairs.sum((-1, -2), keepdims=True)
    return corrected.mean(axis=(0, 1))
