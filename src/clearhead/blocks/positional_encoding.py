"""Sinusoidal positional encoding (paper, section 3.5)."""

import math
from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn

from clearhead.blocks.checks import check_positions


class PositionalEncoding(nn.Module):
    r"""Adds a fixed vector to each embedding: sines and cosines of the position.

    .. math::
        PE_{(pos, 2i)}   &= \sin(pos / 10000^{2i / d_{model}}) \\
        PE_{(pos, 2i+1)} &= \cos(pos / 10000^{2i / d_{model}})

    Attention by itself ignores order: permuting the tokens only permutes the output. With
    sinusoids, :math:`PE_{pos+k}` is a rotation of :math:`PE_{pos}` for each fixed offset
    :math:`k`, so "three positions to the left" is the same linear map at every position.

    Call forms in the sources: ``(d_model, seq_len, dropout)`` (the step-by-step
    guide and Part 1), ``seq=`` for the length (the short guide) and
    ``(d_model, max_len=5000)`` without dropout (Chapter 3).

    Shape:
        x: (batch, seq_len, d_model) -> the same. Buffer ``pe``: (1, seq_len, d_model).

    Raises:
        UserError: the input is longer than `seq_len`, or of another shape.
    """

    pe: Tensor

    def __init__(
        self,
        d_model: int,
        seq_len: int = 5000,
        dropout: float = 0.0,
        *,
        max_len: int | None = None,
        seq: int | None = None,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.seq_len = next(n for n in (max_len, seq, seq_len) if n is not None)
        self.dropout = nn.Dropout(dropout)
        # Not persistent: it is a formula, so a checkpoint need not store it.
        self.register_buffer("pe", sinusoids(self.seq_len, d_model).unsqueeze(0), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Add one row of `pe` to each position; `start` is the first position."""
        check_positions(x, start, self.seq_len, self.d_model)
        # (batch, seq_len, d_model) + (1, seq_len, d_model): one pattern for the whole batch
        return self.dropout(x + self.pe[:, start : start + x.shape[1]].to(x.dtype))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """As in `nn.Module`; leaving the meta device, which has no values, computes `pe`."""
        had_values = not self.pe.is_meta
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if not (had_values or self.pe.is_meta):
            self.pe.copy_(type(self)(self.d_model, self.seq_len).pe)
        return self

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        return f"d_model={self.d_model}, seq_len={self.seq_len}"


def sinusoids(seq_len: int, d_model: int) -> Tensor:
    """The formula of section 3.5, (seq_len, d_model), float32; odd widths end on a sine."""
    position = torch.arange(seq_len, dtype=torch.float64).unsqueeze(1)  # (seq_len, 1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # 2i
    frequency = torch.exp(even * (-math.log(10000.0) / d_model))  # (ceil(d_model / 2),)
    angle = position * frequency  # (seq_len, 1) * (d_model / 2,) -> (seq_len, d_model / 2)
    pe = torch.zeros(seq_len, d_model, dtype=torch.float64)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle[:, : d_model // 2])
    return pe.float()
