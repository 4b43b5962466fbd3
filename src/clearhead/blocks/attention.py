"""Scaled dot-product and multi-head attention (paper, section 3.2, figure 2)."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from clearhead.blocks.checks import (
    check_attention,
    check_dot_product,
    check_heads,
    check_scores,
    is_transformed,
)
from clearhead.blocks.masks import as_boolean


def scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""Each query returns a weighted average of the values.

    .. math:: \text{Attention}(Q, K, V) = \text{softmax}(Q K^T / \sqrt{d_k}) \, V

    The weights measure how well the query matches each key. The dot product of two vectors of
    d_k independent random elements with mean 0 and variance 1 has standard deviation sqrt(d_k);
    without the division the softmax saturates and its gradient vanishes (section 3.2.1,
    equation 1). In float16 a product above 65,504 overflows before the division; bfloat16 has
    the range of float32.

    Shape:
        Q: (..., query, d_k), K: (..., key, d_k), V: (..., key, d_v);
        mask: broadcasts to (..., query, key), True or 1 = visible.
        -> output (..., query, d_v), weights (..., query, key); zeros where no key is visible.

    Raises:
        UserError: shapes that do not fit each other.
    """
    check_scores(Q, K, V, mask)
    return MultiHeadAttentionBlock.attention(Q, K, V, mask, None)


class MultiHeadAttentionBlock(nn.Module):
    r"""h attention heads in parallel, each on its own d_k = d_model / h dimensions.

    .. math:: \text{MultiHead}(q, k, v) = \text{Concat}(head_1, …, head_h) W^O
    .. math:: head_i = \text{Attention}(q W_i^Q, k W_i^K, v W_i^V)

    One softmax can concentrate on one position; h of them can attend to the subject, the
    previous word and the adjective at once, at the same cost (section 3.2.2). The
    step-by-step guide gives the projections a bias, Part 1 does not (``bias=False``).

    Shape:
        q: (batch, query, d_model), k and v: (batch, key, d_model),
        mask: broadcasts to (batch, 1, query, key), True or 1 = visible
        -> (batch, query, d_model)

    Attributes:
        attention_scores: the weights of the last forward pass, (batch, h, query, key), before
            dropout and detached; None before the first, while `keep_attention_scores` is False,
            and after a pass within `torch.func`, whose tensors are valid only there.
        keep_attention_scores: True by default. `accelerate`, used for training and on a GPU,
            switches it off (`record_attention`), to save memory.

    Raises:
        UserError: d_model is not divisible by h; batch sizes, lengths, widths or the mask
            disagree.
    """

    def __init__(self, d_model: int, h: int, dropout: float, bias: bool = True) -> None:
        super().__init__()
        check_heads(d_model, h)
        self.d_model, self.h, self.d_k = d_model, h, d_model // h
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.keep_attention_scores = True
        self.attention_scores: Tensor | None = None

    @staticmethod
    def attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        dropout: Callable[[Tensor], Tensor] | None,
    ) -> tuple[Tensor, Tensor]:
        """Equation 1 for heads that are already split; the weights are those before dropout."""
        check_dot_product(query, key, value)
        d_k = query.shape[-1]
        # (batch, h, query, d_k) @ (batch, h, d_k, key) -> (batch, h, query, key)
        scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
        weights = masked_softmax(scores, mask)
        kept = dropout(weights) if dropout is not None else weights
        # (batch, h, query, key) @ (batch, h, key, d_k) -> (batch, h, query, d_k)
        return kept @ value, weights

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        """Project, attend in each head, concatenate the heads, project."""
        check_attention(q, k, v, mask, self.d_model, self.h)
        query = self.split_heads(self.w_q(q))
        key = self.split_heads(self.w_k(k))
        value = self.split_heads(self.w_v(v))
        x, weights = self.attention(query, key, value, mask, self.dropout)
        self.record(weights)
        return self.w_o(self.join_heads(x))

    def split_heads(self, x: Tensor) -> Tensor:
        """Split d_model into h heads; the head axis comes after the batch axis."""
        # (batch, seq, d_model) -> (batch, seq, h, d_k) -> (batch, h, seq, d_k)
        return x.view(*x.shape[:2], self.h, self.d_k).transpose(1, 2)

    def join_heads(self, x: Tensor) -> Tensor:
        """Concatenate the heads: the Concat of the formula."""
        # (batch, h, seq, d_k) -> (batch, seq, h, d_k) -> (batch, seq, d_model)
        return x.transpose(1, 2).flatten(2)

    def record(self, weights: Tensor) -> None:
        """Keep the weights in `attention_scores`, without their gradient."""
        kept = self.keep_attention_scores and not is_transformed(weights)
        self.attention_scores = weights.detach() if kept else None

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        return f"d_model={self.d_model}, h={self.h}, d_k={self.d_k}"


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the visible keys (last axis); a row without visible keys becomes zeros."""
    # At least float32: sixteen bits are too few for exponentials and their sum.
    exact = torch.promote_types(scores.dtype, torch.float32)
    if mask is None:
        return scores.softmax(dim=-1, dtype=exact).to(scores.dtype)
    visible = as_boolean(mask)
    # The lowest finite number, not -inf: a fully masked row must not become NaN.
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1, dtype=exact).to(scores.dtype).masked_fill(~visible, 0.0)


def record_attention(model: nn.Module, record: bool = True) -> None:
    """Switch `attention_scores` on or off in all attention blocks of a model.

    Switching it off also frees the scores of the last forward pass.
    """
    for module in model.modules():
        if isinstance(module, MultiHeadAttentionBlock):
            module.keep_attention_scores = record
            if not record:
                module.attention_scores = None
