"""Which sentences are decoded together."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor


def batches_by_tokens(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Indices of sentences of like length, at most `batch_tokens` cells a padded batch.

    Longest first, so that memory runs out at once or never. A sentence longer
    than `batch_tokens` is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        size = max(1, batch_tokens // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def groups_by_length(lengths: Sequence[int], rows: int) -> Iterator[list[int]]:
    """Indices, longest first, at most so many at a time."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    for start in range(0, len(order), rows):
        yield order[start : start + rows]


def streams(
    lengths: Sequence[int], batch_tokens: int, most: int | None, refilled: bool
) -> Iterator[tuple[int, list[int]]]:
    """How many places, and the sentences that go through them, longest first.

    The places are as many as `batch_tokens` allows for the first sentence, and at
    most `most`. Where places are refilled, a stream goes on until twice as many
    would be allowed.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        longest = lengths[order[start]]
        places = max(1, min(batch_tokens // max(1, longest), most or len(order)))
        end = min(start + places, len(order))
        while (
            refilled and end < len(order) and (places == most or 2 * lengths[order[end]] >= longest)
        ):
            end += 1
        yield min(places, end - start), order[start:end]
        start = end


def padded(sentences: Sequence[Sequence[int]], pad_id: int, device: torch.device) -> Tensor:
    """Sentences of ids as one (batch, longest) tensor."""
    longest = max(len(ids) for ids in sentences)
    rows = [[*ids, *[pad_id] * (longest - len(ids))] for ids in sentences]
    return torch.tensor(rows, dtype=torch.long, device=device)
