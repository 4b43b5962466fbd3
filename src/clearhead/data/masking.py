"""Hiding words for a masked language model (BERT, section 3.1): 15 %, of these 80/10/10.

Of the chosen tokens 80 % become the mask sign, 10 % any other token and 10 % stay: in use
there are no masks, so a model must not learn to think about masked places only.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
SHARE = 0.15
AS_MASK, AS_ANOTHER = 0.8, 0.9  # up to the first a mask, up to the second another token
UNASKED = -1
"""The label of a token that is not to be found."""


class Vocabulary(NamedTuple):
    """What masking must know: how many tokens, which are signs, which one is the mask."""

    size: int
    signs: tuple[int, ...]
    mask: int


class Masked(NamedTuple):
    """Ids with some hidden, and what stood there; both (batch, seq_len)."""

    ids: Ids
    labels: Ids  # `UNASKED` where nothing is hidden


def hide(ids: Ids, vocabulary: Vocabulary, *seeds: int) -> Masked:
    """Choose 15 % of all tokens that are no signs, at least one, and hide them.

    The same seeds hide the same tokens; negative ids (padding) are never chosen.
    """
    rng = np.random.default_rng([abs(seed) for seed in seeds])
    free = np.flatnonzero((ids >= 0) & ~np.isin(ids, vocabulary.signs))
    chosen = rng.permutation(free)[: max(1, round(SHARE * len(free)))]
    flat, labels = ids.flatten(), np.full(ids.size, UNASKED, dtype=np.int64)
    labels[chosen] = flat[chosen]
    draw = rng.random(len(chosen))
    words = np.setdiff1d(np.arange(vocabulary.size), vocabulary.signs)
    others = words[rng.integers(len(words), size=len(chosen))]
    flat[chosen] = np.where(
        draw < AS_MASK, vocabulary.mask, np.where(draw < AS_ANOTHER, others, flat[chosen])
    )
    return Masked(flat.reshape(ids.shape), labels.reshape(ids.shape))
