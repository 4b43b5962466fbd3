"""Scaled dot-product and multi-head attention (paper, section 3.2, figure 2)."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from clearhead.blocks.masks import as_boolean, check_mask
from clearhead.errors import UserError


def scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""Every query takes the average of the values, weighted by how well the keys fit.

    .. math:: \text{Attention}(Q, K, V) = \text{softmax}(Q K^T / \sqrt{d_k}) \, V

    Why the root: a dot product of two random vectors of d_k unit numbers has
    standard deviation sqrt(d_k); unscaled, the softmax saturates and its
    gradient vanishes (paper, section 3.2.1, equation 1).

    Shape:
        Q: (..., query, d_k), K: (..., key, d_k), V: (..., key, d_v);
        mask: broadcasts to (..., query, key), True or 1 = may look.
        -> output (..., query, d_v), weights (..., query, key). A query that may
        look at nothing has weights 0 and output 0.
    """
    return MultiHeadAttentionBlock.attention(Q, K, V, mask, None)


class MultiHeadAttentionBlock(nn.Module):
    r"""h attentions side by side, each in its own d_k = d_model / h dimensions.

    .. math:: \text{MultiHead}(q, k, v) = \text{Concat}(head_1, …, head_h) W^O
    .. math:: head_i = \text{Attention}(q W_i^Q, k W_i^K, v W_i^V)

    Why many heads: one softmax can point to one place; h of them can point to
    the subject, the previous word and the adjective at once, at the same cost.
    The step-by-step guide writes the projections with a bias, Part 1 without
    (``bias=False``).

    Shape:
        q: (batch, query, d_model), k and v: (batch, key, d_model),
        mask: broadcasts to (batch, 1, query, key) -> (batch, query, d_model)

    `attention_scores` holds the last weights, (batch, h, query, key), before
    dropout, while `keep_attention_scores` is set; else None.

    Raises:
        UserError: d_model is not divisible by h; batch sizes, lengths or mask disagree.
    """

    def __init__(self, d_model: int, h: int, dropout: float, bias: bool = True) -> None:
        super().__init__()
        if h < 1 or d_model % h:
            raise UserError(
                f"d_model={d_model} is not divisible by h={h}; "
                "every head needs the same whole number d_k = d_model / h of dimensions"
            )
        self.d_model, self.h, self.d_k = d_model, h, d_model // h
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.keep_attention_scores = False
        self.attention_scores: Tensor | None = None

    @staticmethod
    def attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        dropout: Callable[[Tensor], Tensor] | None,
    ) -> tuple[Tensor, Tensor]:
        """Equation 1 on heads that are already apart; the weights come back before dropout."""
        d_k = query.shape[-1]
        # (batch, h, query, d_k) @ (batch, h, d_k, key) -> (batch, h, query, key)
        scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
        weights = masked_softmax(scores, mask)
        kept = dropout(weights) if dropout is not None else weights
        # (batch, h, query, key) @ (batch, h, key, d_k) -> (batch, h, query, d_k)
        return kept @ value, weights

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        """Project, attend in every head, join the heads, project (shapes above)."""
        check_agreement(q, k, v)
        check_mask(mask, (q.shape[0], self.h, q.shape[1], k.shape[1]))
        query = self.split_heads(self.w_q(q))
        key = self.split_heads(self.w_k(k))
        value = self.split_heads(self.w_v(v))
        x, weights = self.attention(query, key, value, mask, self.dropout)
        self.attention_scores = weights.detach() if self.keep_attention_scores else None
        return self.w_o(self.join_heads(x))

    def split_heads(self, x: Tensor) -> Tensor:
        """Cut the width into h heads, which then stand beside the batch."""
        # (batch, seq, d_model) -> (batch, seq, h, d_k) -> (batch, h, seq, d_k)
        return x.view(*x.shape[:2], self.h, self.d_k).transpose(1, 2)

    def join_heads(self, x: Tensor) -> Tensor:
        """Lay the heads side by side again: the Concat of the formula."""
        # (batch, h, seq, d_k) -> (batch, seq, h, d_k) -> (batch, seq, d_model)
        return x.transpose(1, 2).flatten(2)

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        return f"d_model={self.d_model}, h={self.h}, d_k={self.d_k}"


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the last axis among what the mask allows; a row of nothing gives zeros."""
    if mask is None:
        return scores.softmax(dim=-1)
    allowed = as_boolean(mask)
    # The lowest finite number, not -inf: a fully masked row must not become NaN.
    scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1).masked_fill(~allowed, 0.0)


def check_agreement(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Queries, keys and values must come from one batch, and each key needs its value."""
    if not q.shape[0] == k.shape[0] == v.shape[0]:
        raise UserError(
            f"batch sizes disagree: q has {q.shape[0]}, k has {k.shape[0]}, v has {v.shape[0]}; "
            "give the same number of sentences to all three"
        )
    if k.shape[1] != v.shape[1]:
        raise UserError(
            f"k has {k.shape[1]} positions and v has {v.shape[1]}; every key needs its value"
        )
