"""Self-attention one token at a time, with a cache of keys and values."""

import torch
from torch import Tensor

from clearhead.blocks import scaled_dot_product_attention


def attend_cached(query: Tensor, key: Tensor, value: Tensor, cache: dict[str, Tensor]) -> Tensor:
    """Attention of one new position to itself and to all earlier ones.

    `cache` is empty at the first call and is changed: it keeps "key" and "value" of
    every position so far, so that no position is computed twice.

    Shape:
        query, key, value: (batch, h, 1, d_k) -> (batch, h, 1, d_k)
    """
    if cache:
        key = torch.cat([cache["key"], key], dim=2)
        value = torch.cat([cache["value"], value], dim=2)
    cache["key"], cache["value"] = key, value
    return scaled_dot_product_attention(query, key, value)[0]
