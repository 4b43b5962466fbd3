"""Chapter 3's two attention modules, which return the weights together with the output."""

from torch import Tensor, nn

from clearhead.blocks.attention import scaled_dot_product_attention
from clearhead.blocks.checks import check_heads, check_sequence


class SelfAttention(nn.Module):
    """Single-head attention of a sequence over itself: Q, K and V are projections of the same x.

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
        """Attention of x over itself: output and weights."""
        check_sequence("x", x, self.d_model)
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
        check_heads(d_model, num_heads, "num_heads")
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Project, attend in each head, concatenate the heads, project: output and weights."""
        check_sequence("x", x, self.d_model)
        Q, K, V = (self.split_heads(w(x)) for w in (self.W_q, self.W_k, self.W_v))
        output, weights = scaled_dot_product_attention(Q, K, V)
        return self.W_o(self.combine_heads(output)), weights

    def split_heads(self, x: Tensor) -> Tensor:
        """Split d_model into heads; the head axis comes after the batch axis."""
        # (batch, seq, d_model) -> (batch, seq, num_heads, d_k) -> (batch, num_heads, seq, d_k)
        return x.view(*x.shape[:2], self.num_heads, self.d_k).transpose(1, 2)

    def combine_heads(self, x: Tensor) -> Tensor:
        """Concatenate the heads."""
        # (batch, num_heads, seq, d_k) -> (batch, seq, num_heads, d_k) -> (batch, seq, d_model)
        return x.transpose(1, 2).flatten(2)
