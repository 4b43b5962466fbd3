"""A padded batch of training pairs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearhead.data.encoded import Rows

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """Padded ids that end with eos: source (batch, src_len), target (batch, tgt_len).

    `target` holds the labels; the decoder's input is `shift_right(target)`.

    Attributes:
        indices: (batch,) the pairs' numbers in the corpus.
        source_tokens, target_tokens: how many ids are not padding, eos included.
        epoch, window, index: where in the walk the batch stands.
    """

    source: Ints
    target: Ints
    indices: Ints
    source_tokens: int
    target_tokens: int
    epoch: int
    window: int
    index: int


def pad_rows(rows: Rows, chosen: Ints, pad_id: int, eos_id: int) -> tuple[Ints, Ints]:
    """Source and target ids of the chosen rows, each (batch, longest + 1) with eos and padding."""
    starts, sources = rows.starts[chosen], rows.source_lengths[chosen]
    targets = rows.target_lengths[chosen]
    return (
        _padded(rows, starts, sources, pad_id, eos_id),
        _padded(rows, starts + sources, targets, pad_id, eos_id),
    )


def _padded(rows: Rows, starts: Ints, lengths: Ints, pad_id: int, eos_id: int) -> Ints:
    columns = np.arange(int(lengths.max()) + 1)
    where = np.minimum(starts[:, None] + columns, len(rows.tokens) - 1)
    ids: Ints = rows.tokens[where].astype(np.int64)
    ids[columns > lengths[:, None]] = pad_id
    ids[np.arange(len(lengths)), lengths] = eos_id
    return ids
