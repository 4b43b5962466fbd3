"""Padding is no word: it is cut off before anything is drawn."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from clearhead.explain.attention_map import AttentionMap

logger = logging.getLogger(__name__)

PADS = frozenset({"<pad>", "[PAD]", "<|pad|>"})
_LOST = 1e-3  # of a row's weight, that may go with the padding


def crop(shown: AttentionMap) -> AttentionMap:
    """Without the padding behind the words, and without two or more before them.

    One `<pad>` before the words is Marian's begin sign, and stays. Padding that
    the words look at, because the model was not given its mask, stays as well and is
    said: without it the rows would not sum to 1.
    """
    queries, keys = _words(shown.queries), _words(shown.keys)
    rows = shown.weights[:, :, queries]
    lost = rows.sum(-1) - rows[..., keys].sum(-1)
    if lost.max() > _LOST:
        logger.warning(
            "the padding of %s is looked at, so it is shown; give the model its attention_mask",
            shown.title.lower(),
        )
        keys = slice(None)
        queries = slice(None) if shown.queries == shown.keys else queries
    return replace(
        shown,
        weights=shown.weights[:, :, queries, keys],
        queries=shown.queries[queries],
        keys=shown.keys[keys],
    )


def _words(tokens: Sequence[str]) -> slice:
    start, stop = 0, len(tokens)
    while stop > 1 and tokens[stop - 1] in PADS:
        stop -= 1
    while start < stop - 1 and tokens[start] in PADS:
        start += 1
    return slice(start if start > 1 else 0, stop)
