r"""How far apart two predictions are, over the whole vocabulary, in chunks.

For logits of two hidden states of the same place, :math:`p = \text{softmax}(x_1 W^T + b)`
and q likewise from :math:`x_2`, the mean of both Kullback-Leibler divergences is

.. math::
    D &= \tfrac{1}{2} \left( KL(p \| q) + KL(q \| p) \right)
       = \tfrac{1}{2} \textstyle\sum_v (p_v - q_v) (\log p_v - \log q_v) \\
    \partial D / \partial logits_p &= \tfrac{1}{2} \left( p \circ (\log p - \log q - KL(p \| q))
       + p - q \right)

and the same with p and q exchanged. As in `loss`, gradients are made on the way forward,
and a chunk's (rows, vocab) numbers are forgotten.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from clearhead.fast.linear import linear

# Numbers in a chunk: 4 MB of float32, of which the few that are alive stay in the cache.
CHUNK = 2**20


def projected_disagreement(one: Tensor, other: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The sum of D over all places.

    Shape:
        one, other: (tokens, d_model), weight: (vocab, d_model), bias: (vocab,)
        -> a scalar, float32 (float64 for float64 input)
    """
    summed: Tensor = _ProjectedDisagreement.apply(  # type: ignore[no-untyped-call]
        one, other, weight, bias
    )
    return summed


class _ProjectedDisagreement(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, one: Tensor, other: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        exact = torch.float64 if one.dtype == torch.float64 else torch.float32
        total = torch.zeros((), dtype=exact, device=one.device)
        to_one, to_other = torch.empty_like(one), torch.empty_like(other)
        to_weight = torch.zeros_like(weight, dtype=exact)
        to_bias = torch.zeros_like(bias, dtype=exact)
        rows = max(1, CHUNK // len(weight))
        for start in range(0, len(one), rows):
            here = slice(start, start + rows)
            logits = [linear(x[here], weight, bias).to(exact) for x in (one, other)]
            summed, gradients = _disagreement(logits[0], logits[1])
            total += summed
            for g, x, to_x in zip(gradients, (one, other), (to_one, to_other), strict=True):
                to_bias += g.sum(0)
                g = g.to(x.dtype)
                to_x[here] = g @ weight  # (chunk, vocab) @ (vocab, d_model)
                to_weight += g.t() @ x[here]  # (vocab, chunk) @ (chunk, d_model)
        ctx.save_for_backward(to_one, to_other, to_weight.to(weight.dtype), to_bias.to(bias.dtype))
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        return tuple(saved * grad.to(saved.dtype) for saved in ctx.saved_tensors)


def _disagreement(one: Tensor, other: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """(chunk, vocab) logits, twice -> the sum of D and its gradients."""
    log_p, log_q = one.log_softmax(dim=1), other.log_softmax(dim=1)
    p, q, ratio = log_p.exp(), log_q.exp(), log_p - log_q
    p_to_q = (p * ratio).sum(dim=1, keepdim=True)
    q_to_p = -(q * ratio).sum(dim=1, keepdim=True)
    difference = p - q
    to_one = p.mul_(ratio - p_to_q).add_(difference).mul_(0.5)
    to_other = q.mul_(-ratio - q_to_p).sub_(difference).mul_(0.5)
    return 0.5 * (p_to_q + q_to_p).sum(), (to_one, to_other)
