"""What the proofs compute on: every size another, and every kind of mask."""

from collections.abc import Iterable

import torch
from torch import Tensor

from clearhead.blocks import look_ahead_mask

BATCH, HEADS, QUERY, KEY, D_K, D_FF = 3, 4, 5, 6, 7, 11
D_MODEL = HEADS * D_K


def padded(lengths: Iterable[int], longest: int) -> Tensor:
    """True where a word stands: (batch, longest)."""
    return torch.arange(longest)[None, :] < torch.tensor(list(lengths))[:, None]


SOURCE, TARGET = padded((6, 2, 4), KEY), padded((5, 3, 1), QUERY)
SOURCE_MASK = SOURCE[:, None, None, :]
TARGET_MASK = TARGET[:, None, None, :] & look_ahead_mask(QUERY)
MASKS: dict[str, Tensor | None] = {
    "none": None,
    "padding": SOURCE_MASK,
    "look-ahead": look_ahead_mask(KEY)[..., :QUERY, :],
    "both": SOURCE_MASK & look_ahead_mask(KEY)[..., :QUERY, :],
}


def queries_keys_values(dtype: torch.dtype) -> list[Tensor]:
    """(batch, query, d_model), and twice (batch, key, d_model)."""
    return [torch.randn(BATCH, length, D_MODEL, dtype=dtype) for length in (QUERY, KEY, KEY)]


def source(dtype: torch.dtype) -> Tensor:
    """(batch, key, d_model)."""
    return torch.randn(BATCH, KEY, D_MODEL, dtype=dtype)


def target(dtype: torch.dtype) -> Tensor:
    """(batch, query, d_model)."""
    return torch.randn(BATCH, QUERY, D_MODEL, dtype=dtype)
