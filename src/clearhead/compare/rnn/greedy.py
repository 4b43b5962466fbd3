"""Greedy translations by a recurrent translator: always the likeliest next token."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.compare.rnn.translator import RnnTranslator

ROWS = 64


def translate(model: RnnTranslator, sources: Sequence[list[int]], limit: int) -> list[list[int]]:
    """Ids with their end sign in, ids without it out, in the order given; at most `limit`."""
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    found: list[list[int]] = [[] for _ in sources]
    with torch.inference_mode():
        for start in range(0, len(order), ROWS):
            rows = order[start : start + ROWS]
            for i, ids in zip(rows, _batch(model, [sources[i] for i in rows], limit), strict=True):
                found[i] = ids
    return found


def _batch(model: RnnTranslator, sources: list[list[int]], limit: int) -> list[list[int]]:
    config = model.config
    longest = max(map(len, sources))
    padded = [[*ids, *[config.pad_id] * (longest - len(ids))] for ids in sources]
    src = torch.tensor(padded)
    mask = padding_mask(src, config.pad_id)
    carried = model.start(model.encode(src, mask), mask)
    last = torch.full((len(sources),), config.bos_id)
    over = torch.zeros(len(sources), dtype=torch.bool)
    written: list[Tensor] = []
    while len(written) < limit and not over.all():
        hidden, carried = model.step(last, carried)
        last = model.projection_layer.logits(hidden).argmax(-1)
        over |= last == config.eos_id
        written.append(last)
    lines = cast(list[list[int]], torch.stack(written, 1).tolist())
    return [_up_to(ids, config.eos_id) for ids in lines]


def _up_to(ids: list[int], end: int) -> list[int]:
    return ids[: ids.index(end)] if end in ids else ids
