"""Hiding spans of tokens for a masked language model (BERT, section 3.1; DNABERT).

Overlapping k-mers share letters with their neighbours: one masked k-mer can be read off the two
beside it without any knowledge of DNA. So k tokens in a row are masked; then exactly one letter,
the middle one of those that they cover, is in no visible token.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
VISIBLE = -1
"""The label of a token that is not to be predicted."""


class Hidden(NamedTuple):
    """Ids with spans hidden, and what stood there (`VISIBLE` elsewhere); both (batch, seq_len)."""

    ids: Ints
    labels: Ints


class Spans(NamedTuple):
    """What is hidden: a share of all tokens that are not special, `length` in a row."""

    share: float
    length: int
    mask_id: int
    ordinary: Ints  # ids of the tokens that are not special


def hide_spans(ids: Ints, spans: Spans, *seeds: int) -> Hidden:
    """Hide spans; the same seeds hide the same tokens.

    Of the spans 80 % become mask tokens, 10 % random tokens and 10 % stay. The draw is of whole
    spans: a single k-mer that stayed would give its masked neighbours away.

    Shape: (batch, seq_len) -> twice (batch, seq_len)
    """
    rng = np.random.default_rng(seeds)
    can_hide = np.isin(ids, spans.ordinary)
    # A position is in a span if one of `length` starts hits: solve 1 - (1 - p)^length = share.
    start_rate = 1 - (1 - spans.share) ** (1 / spans.length)
    starts = (rng.random(ids.shape) < start_rate) & can_hide
    if not starts.any():
        rows, columns = np.nonzero(can_hide)
        pick = rng.integers(len(rows))
        starts[rows[pick], columns[pick]] = True
    draws = np.where(starts, rng.random(ids.shape), np.nan)
    draw = draws.copy()
    for shift in range(1, spans.length):
        moved = np.roll(draws, shift, axis=1)
        moved[:, :shift] = np.nan
        draw = np.where(np.isnan(draw), moved, draw)
    chosen = ~np.isnan(draw) & can_hide
    others = rng.choice(spans.ordinary, size=ids.shape)
    hidden = np.where(draw < AS_MASK, spans.mask_id, np.where(draw < AS_ANOTHER, others, ids))
    return Hidden(np.where(chosen, hidden, ids), np.where(chosen, ids, VISIBLE))
