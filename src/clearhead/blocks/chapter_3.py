"""The two modules of the seeds' Chapter 3, which return their weights beside their output."""

from torch import Tensor, nn

from clearhead.blocks.attention import MultiHeadAttentionBlock, scaled_dot_product_attention
from clearhead.errors import UserError


class SelfAttention(nn.Module):
    """One head over the whole width: Q, K and V are three views of the same x.

    Shape:
        x: (batch, seq_len, d_model) -> output as x, weights (batch, seq_len, seq_len)
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return scaled_dot_product_attention(self.W_q(x), self.W_k(x), self.W_v(x))


class MultiHeadAttention(nn.Module):
    """Self-attention in `num_heads` heads: `MultiHeadAttentionBlock` without mask or dropout.

    Shape:
        x: (batch, seq_len, d_model) -> output as x, weights (batch, num_heads, seq_len, seq_len)

    Raises:
        UserError: d_model is not divisible by num_heads.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if num_heads < 1 or d_model % num_heads:
            raise UserError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        heads = (self.split_heads(w(x)) for w in (self.W_q, self.W_k, self.W_v))
        output, weights = MultiHeadAttentionBlock.attention(*heads, None, None)
        return self.W_o(self.combine_heads(output)), weights

    def split_heads(self, x: Tensor) -> Tensor:
        # (batch, seq_len, d_model) -> (batch, seq_len, num_heads, d_k) -> (batch, num_heads, seq_len, d_k)
        return x.view(*x.shape[:2], self.num_heads, self.d_k).transpose(1, 2)

    def combine_heads(self, x: Tensor) -> Tensor:
        # (batch, num_heads, seq_len, d_k) -> (batch, seq_len, num_heads, d_k) -> (batch, seq_len, d_model)
        return x.transpose(1, 2).reshape(x.shape[0], -1, self.d_model)
