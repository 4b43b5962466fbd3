"""Masked language modelling (BERT, section 3.1; DNABERT): 15 % of the tokens are predicted.

Of the chosen tokens 80 % become the mask token, 10 % a random token, and 10 % stay as they are:
in use there are no mask tokens, so a model must not learn to predict at masked positions only.

Overlapping k-mers share letters with their neighbours: one masked k-mer can be read off the two
beside it without any knowledge of DNA. So k tokens in a row are masked; then exactly one letter,
the middle one of those that they cover, is in no visible token.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from clearhead.data.batching import TokenBatches
from clearhead.data.token_stream import Ids

SHARE = 0.15
AS_MASK, AS_ANOTHER = 0.8, 0.9  # up to the first a mask, up to the second another token
IGNORED = -1
"""The label of a token that is not predicted."""


class Vocabulary(NamedTuple):
    """The number of tokens, the ids of the special tokens, and the id of the mask token."""

    size: int
    special: tuple[int, ...]
    mask: int


class Masked(NamedTuple):
    """Ids with some masked, and their labels; both (batch, seq_len)."""

    ids: Ids
    labels: Ids  # `IGNORED` where nothing is predicted


def mask_tokens(ids: Ids, vocabulary: Vocabulary, *seeds: int) -> Masked:
    """Choose 15 % of the tokens that are not special, at least one, and mask them.

    The same seeds mask the same tokens; negative ids (padding) are never chosen.
    """
    rng = np.random.default_rng([abs(seed) for seed in seeds])
    free = np.flatnonzero((ids >= 0) & ~np.isin(ids, vocabulary.special))
    chosen = rng.permutation(free)[: max(1, round(SHARE * len(free)))]
    flat, labels = ids.flatten(), np.full(ids.size, IGNORED, dtype=np.int64)
    labels[chosen] = flat[chosen]
    draw = rng.random(len(chosen))
    words = np.setdiff1d(np.arange(vocabulary.size), vocabulary.special)
    others = words[rng.integers(len(words), size=len(chosen))]
    flat[chosen] = np.where(
        draw < AS_MASK, vocabulary.mask, np.where(draw < AS_ANOTHER, others, flat[chosen])
    )
    return Masked(flat.reshape(ids.shape), labels.reshape(ids.shape))


class MaskedBatches(Iterator[Masked]):
    """An endless sequence of batches of source rows, other tokens masked in each epoch.

    The masked tokens follow from the seed and the position of the batch, so a run is resumed
    from its position alone.
    """

    def __init__(self, plain: TokenBatches, vocabulary: Vocabulary) -> None:
        self.plain, self.vocabulary = plain, vocabulary
        self.state, self.restore = plain.state, plain.restore

    @property
    def epoch(self) -> int:
        """How often the whole corpus has been read."""
        return self.plain.epoch

    def __next__(self) -> Masked:
        batch = next(self.plain)
        seeds = (self.plain.plan.seed, batch.epoch, batch.window, batch.index)
        return mask_tokens(batch.source, self.vocabulary, *seeds)


class Spans(NamedTuple):
    """What is hidden: a share of all tokens that are not special, `length` in a row."""

    share: float
    length: int
    mask_id: int
    ordinary: Ids  # ids of the tokens that are not special


def hide_spans(ids: Ids, spans: Spans, *seeds: int) -> Masked:
    """Hide spans; the same seeds hide the same tokens.

    Of the spans 80 % become mask tokens, 10 % random tokens and 10 % stay. The draw is of whole
    spans: a single k-mer that stayed would give its masked neighbours away.

    Shape: (batch, seq_len) -> twice (batch, seq_len)
    """
    rng = np.random.default_rng([abs(seed) for seed in seeds])
    can_hide = np.isin(ids, spans.ordinary)
    # A position is in a span if one of `length` starts hits: solve 1 - (1 - p)^length = share.
    start_rate = 1 - (1 - spans.share) ** (1 / spans.length)
    starts = (rng.random(ids.shape) < start_rate) & can_hide
    if not starts.any() and can_hide.any():
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
    return Masked(np.where(chosen, hidden, ids), np.where(chosen, ids, IGNORED))
