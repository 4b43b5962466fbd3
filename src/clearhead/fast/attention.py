r"""Multi-head attention with its backward pass written by hand.

The formula is the readable one,

.. math:: W = \text{softmax}(Q K^T / \sqrt{d_k}), \qquad O = (W \circ D) V

with D the dropout's 0 or 1 / (1 - p); and for a gradient dO

.. math::
    dV = (W \circ D)^T dO, \quad dW = (dO \, V^T) \circ D, \quad
    dS = W \circ (dW - \textstyle\sum_k dW \circ W) / \sqrt{d_k}, \quad
    dQ = dS \, K, \quad dK = dS^T Q.

The tricks: heads are laid apart in one plain copy, so that no product has to make a
second, transposed one; and what stands between the products is float32, because
softmax over 16 bfloat16 numbers takes three times as long as over float32, its backward
27 times. At that length it takes 2 % off a step of a small Transformer, of which nearly
all is matrix products; and it keeps fewer tensors for the backward pass.
"""

import math
from typing import Any, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from clearhead.blocks.attention import MultiHeadAttentionBlock, check_agreement
from clearhead.blocks.masks import as_boolean, check_mask
from clearhead.fast.dropout import draw_factors
from clearhead.fast.twin import same_insides


class FastMultiHeadAttentionBlock(MultiHeadAttentionBlock):
    """`MultiHeadAttentionBlock` through `attend`; the projections are the same modules."""

    @classmethod
    def twin(cls, block: MultiHeadAttentionBlock) -> Self:
        """One with the other's projections and dropout."""
        return same_insides(cls, block)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        """Project, attend in every head, project."""
        check_agreement(q, k, v)
        scores = (q.shape[0], self.h, q.shape[1], k.shape[1])
        check_mask(mask, scores)
        kept = draw_factors(self.dropout, scores, _exact(q.dtype), q.device)
        x, weights = attend(self.w_q(q), self.w_k(k), self.w_v(v), mask, kept, self.h)
        self.attention_scores = weights.to(x.dtype) if self.keep_attention_scores else None
        return self.w_o(x)


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, kept: Tensor | None, h: int
) -> tuple[Tensor, Tensor]:
    """Attention in h heads that lie side by side, before and after; and its weights.

    Shape:
        query: (batch, query, d_model), key and value: (batch, key, d_model),
        mask: broadcasts to (batch, h, query, key), True = may look,
        kept: (batch, h, query, key), what dropout multiplies the weights with
        -> (batch, query, d_model), weights (batch, h, query, key) before dropout
    """
    allowed = None if mask is None else as_boolean(mask)
    x, weights = _Attention.apply(  # type: ignore[no-untyped-call]
        query, key, value, allowed, kept, h
    )
    return x, weights


class _Attention(torch.autograd.Function):
    """The formulas at the top; only the output carries a gradient, not the weights."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        allowed: Tensor | None,
        kept: Tensor | None,
        h: int,
    ) -> tuple[Tensor, Tensor]:
        Q, K, V = (_apart(x, h) for x in (query, key, value))
        scores = torch.bmm(Q, K.transpose(1, 2)).to(_exact(Q.dtype))
        scores = scores.mul_(1 / math.sqrt(Q.shape[2])).unflatten(0, (-1, h))
        weights = _softmax(scores, allowed)
        ctx.save_for_backward(Q, K, V, weights, kept)
        ctx.mark_non_differentiable(weights)
        return _together(torch.bmm(_dropped(weights, kept, Q.dtype), V), h), weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        Q, K, V, weights, kept = ctx.saved_tensors
        h, dtype = weights.shape[1], Q.dtype
        dO = _apart(grad, h)
        dV = torch.bmm(_dropped(weights, kept, dtype).transpose(1, 2), dO)
        dW = torch.bmm(dO, V.transpose(1, 2)).to(weights.dtype).view_as(weights)
        if kept is not None:
            dW.mul_(kept)
        dS = dW.sub_((dW * weights).sum(-1, keepdim=True)).mul_(weights)
        dS = dS.mul_(1 / math.sqrt(Q.shape[2])).flatten(0, 1).to(dtype)
        dQ, dK = torch.bmm(dS, K), torch.bmm(dS.transpose(1, 2), Q)
        return _together(dQ, h), _together(dK, h), _together(dV, h), None, None, None


def _softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Among what is allowed; a row of nothing gives zeros. Overwrites the scores."""
    if allowed is None:
        return scores.softmax(dim=-1)
    # To add the lowest number, once a sentence, is cheaper than to look at every score.
    lowest = torch.zeros(allowed.shape, dtype=scores.dtype, device=scores.device)
    scores += lowest.masked_fill_(~allowed, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1).mul_(allowed.any(dim=-1, keepdim=True).to(scores.dtype))


def _dropped(weights: Tensor, kept: Tensor | None, dtype: torch.dtype) -> Tensor:
    """(batch, h, query, key) -> (batch · h, query, key), after dropout."""
    return (weights if kept is None else weights * kept).flatten(0, 1).to(dtype)


def _apart(x: Tensor, h: int) -> Tensor:
    """(batch, seq_len, d_model) -> (batch · h, seq_len, d_k), in one copy."""
    return x.unflatten(-1, (h, -1)).transpose(1, 2).reshape(-1, x.shape[1], x.shape[2] // h)


def _together(x: Tensor, h: int) -> Tensor:
    """(batch · h, seq_len, d_k) -> (batch, seq_len, d_model), in one copy."""
    return x.unflatten(0, (-1, h)).transpose(1, 2).flatten(2)


def _exact(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32
