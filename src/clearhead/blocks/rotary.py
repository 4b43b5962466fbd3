"""Where a token stands, told by turning queries and keys (Su et al. 2021; ESM-2)."""

import torch
from torch import Tensor, nn

from clearhead.blocks.attention import MultiHeadAttentionBlock, check_agreement
from clearhead.blocks.masks import check_mask
from clearhead.errors import UserError


class RotaryPositions(nn.Module):
    r"""Turns each pair of features by an angle that grows with the position.

    .. math::
        \begin{pmatrix} a' \\ b' \end{pmatrix} =
        \begin{pmatrix} \cos t\theta_i & -\sin t\theta_i \\ \sin t\theta_i & \cos t\theta_i
        \end{pmatrix} \begin{pmatrix} a \\ b \end{pmatrix},
        \qquad \theta_i = \text{base}^{-2i / d_k}

    a and b are features i and i + d_k / 2 of the vector at position t.

    Why: after the turn the product of a query at t and a key at s depends on t - s alone,
    so attention sees distances, and no position needs a vector of its own.

    Shape:
        x: (batch, h, seq_len, d_k) -> the same. Buffer ``frequencies``: (d_k / 2,), theta.

    Raises:
        UserError: d_k is odd.
    """

    frequencies: Tensor

    def __init__(self, d_k: int, base: float = 10000.0) -> None:
        super().__init__()
        if d_k % 2:
            raise UserError(
                f"d_k={d_k} is odd, and rotary positions turn pairs of features; choose d_model "
                "and h so that d_model / h is even"
            )
        even = torch.arange(0, d_k, 2, dtype=torch.float32)  # 2i
        self.register_buffer("frequencies", 1.0 / base ** (even / d_k))

    def forward(self, x: Tensor) -> Tensor:
        """Turn position t by t · theta; the angles are computed in float32."""
        position = torch.arange(x.shape[2], device=x.device, dtype=torch.float32)
        angle = position[:, None] * self.frequencies.float()  # (seq_len, d_k / 2)
        cosine, sine = angle.cos(), angle.sin()
        a, b = x.float().chunk(2, dim=-1)  # (batch, h, seq_len, d_k / 2) each
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], dim=-1).to(x.dtype)


class RotaryMultiHeadAttentionBlock(MultiHeadAttentionBlock):
    """`MultiHeadAttentionBlock` whose queries and keys know where they stand.

    `rotary` turns them; all layers may share one. Values are not turned: what a token
    says does not depend on its place, only who listens to it.

    Shape:
        q: (batch, query, d_model), k and v: (batch, key, d_model),
        mask: broadcasts to (batch, 1, query, key) -> (batch, query, d_model)
    """

    def __init__(self, d_model: int, h: int, dropout: float, rotary: nn.Module) -> None:
        super().__init__(d_model, h, dropout)
        self.rotary = rotary

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        """Project, turn, attend in every head, join the heads, project."""
        check_agreement(q, k, v)
        check_mask(mask, (q.shape[0], self.h, q.shape[1], k.shape[1]))
        query = self.rotary(self.split_heads(self.w_q(q)))
        key = self.rotary(self.split_heads(self.w_k(k)))
        value = self.split_heads(self.w_v(v))
        x, weights = self.attention(query, key, value, mask, self.dropout)
        self.attention_scores = weights.detach() if self.keep_attention_scores else None
        return self.w_o(self.join_heads(x))
