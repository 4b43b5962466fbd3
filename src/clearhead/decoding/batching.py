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


def padded(sentences: Sequence[Sequence[int]], pad_id: int, device: torch.device) -> Tensor:
    """Sentences of ids as one (batch, longest) tensor."""
    longest = max(len(ids) for ids in sentences)
    rows = [[*ids, *[pad_id] * (longest - len(ids))] for ids in sentences]
    return torch.tensor(rows, dtype=torch.long, device=device)
