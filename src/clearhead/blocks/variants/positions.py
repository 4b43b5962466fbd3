"""Other ways to encode positions: halved sinusoids, learned vectors, rotary embedding."""

from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn

from clearhead.blocks.attention import MultiHeadAttentionBlock
from clearhead.blocks.checks import check_attention, check_features, check_positions
from clearhead.blocks.positional_encoding import PositionalEncoding
from clearhead.errors import UserError


class HalvedPositionalEncoding(PositionalEncoding):
    r"""`PositionalEncoding` with all sines before all cosines, as in Marian.

    .. math::
        PE_{(pos, i)}                   &= \sin(pos / 10000^{2i / d_{model}}) \\
        PE_{(pos, i + d_{model} / 2)}   &= \cos(pos / 10000^{2i / d_{model}})

    A model trained from scratch learns equally well with either order; trained weights need
    the order of their training.

    Shape:
        x: (batch, seq_len, d_model) -> the same. Buffer ``pe``: (1, seq_len, d_model).

    Raises:
        UserError: the input is longer than `seq_len`, or of another shape.
    """

    def __init__(self, d_model: int, seq_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__(d_model, seq_len, dropout)
        # sine, cosine, sine, cosine … -> the sines, then the cosines
        self.pe = torch.cat([self.pe[..., 0::2], self.pe[..., 1::2]], dim=-1)


class LearnedPositions(nn.Module):
    r"""Adds a learned vector for each position to the embedding (BERT, GPT-2).

    .. math:: \text{out}_t = x_t + P_t

    The paper compared this with sinusoids and found nearly identical results (section 3.5;
    table 3, row E). Positions beyond `seq_len` have no vector, so `seq_len` limits the input.

    Shape:
        x: (batch, seq_len, d_model) -> the same. Embedding matrix: (seq_len, d_model).

    Raises:
        UserError: the input is longer than `seq_len`, or of another shape.
    """

    def __init__(self, d_model: int, seq_len: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.d_model = d_model
        self.seq_len = seq_len
        self.table = nn.Embedding(seq_len, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Add one row of the matrix to each position; `start` is the first position."""
        check_positions(x, start, self.seq_len, self.d_model)
        # (batch, seq_len, d_model) + (seq_len, d_model): the same rows for the whole batch
        return self.dropout(x + self.table.weight[start : start + x.shape[1]])

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        return f"d_model={self.d_model}, seq_len={self.seq_len}"


class RotaryPositions(nn.Module):
    r"""Rotates each pair of features by an angle proportional to the position (Su et al. 2021).

    .. math::
        \begin{pmatrix} a' \\ b' \end{pmatrix} =
        \begin{pmatrix} \cos t\theta_i & -\sin t\theta_i \\ \sin t\theta_i & \cos t\theta_i
        \end{pmatrix} \begin{pmatrix} a \\ b \end{pmatrix},
        \qquad \theta_i = \text{base}^{-2i / d_k}

    a and b are features i and i + d_k / 2 of the vector at position t.

    The dot product of a rotated query at t and a rotated key at s depends on t - s only, so
    attention depends on relative positions. ESM-2 uses it.

    Shape:
        x: (batch, h, seq_len, d_k) -> the same. Buffer ``frequencies``: (d_k / 2,), theta.

    Raises:
        UserError: d_k is odd, or not the last dimension of x.
    """

    frequencies: Tensor

    def __init__(self, d_k: int, base: float = 10000.0) -> None:
        super().__init__()
        if d_k % 2:
            raise UserError(
                f"d_k={d_k} is odd, and rotary positions rotate pairs of features; choose d_model "
                "and h so that d_model / h is even"
            )
        even = torch.arange(0, d_k, 2, dtype=torch.float32)  # 2i
        self.register_buffer("frequencies", 1.0 / base ** (even / d_k))

    def forward(self, x: Tensor) -> Tensor:
        """Rotate position t by t · theta, computed in float32, or in float64 if x is."""
        check_features("x", x, 2 * len(self.frequencies))
        exact = torch.promote_types(x.dtype, torch.float32)
        position = torch.arange(x.shape[2], device=x.device, dtype=exact)
        angle = position[:, None] * self.frequencies.to(exact)  # (seq_len, d_k / 2)
        cosine, sine = angle.cos(), angle.sin()
        a, b = x.to(exact).chunk(2, dim=-1)  # (batch, h, seq_len, d_k / 2) each
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], dim=-1).to(x.dtype)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Frequencies move between devices, but `model.bfloat16()` does not round them.

        The rounding error, multiplied by the position, would make the angle wrong.
        """

        def move(values: Tensor) -> Tensor:
            moved = fn(values)
            # A meta tensor has no values that could be copied.
            return moved.to(values.dtype) if values.is_meta else values.to(moved.device)

        return super()._apply(move, recurse)  # type: ignore[no-untyped-call]


class RotaryMultiHeadAttentionBlock(MultiHeadAttentionBlock):
    """`MultiHeadAttentionBlock` that rotates its queries and keys, not its values.

    `rotary` is a `RotaryPositions`, which all layers may share.

    Shape:
        q: (batch, query, d_model), k and v: (batch, key, d_model),
        mask: broadcasts to (batch, 1, query, key) -> (batch, query, d_model)
    """

    def __init__(self, d_model: int, h: int, dropout: float, rotary: nn.Module) -> None:
        super().__init__(d_model, h, dropout)
        self.rotary = rotary

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        """Project, rotate, attend in each head, concatenate the heads, project."""
        check_attention(q, k, v, mask, self.d_model, self.h)
        query = self.rotary(self.split_heads(self.w_q(q)))
        key = self.rotary(self.split_heads(self.w_k(k)))
        value = self.split_heads(self.w_v(v))
        x, weights = self.attention(query, key, value, mask, self.dropout)
        self.record(weights)
        return self.w_o(self.join_heads(x))
