r"""Projection and R-Drop's loss in one operation, in chunks (Liang et al. 2021, equation 4).

Two passes over a batch differ by their dropout; p and q are the two predictions of a label y.
L is the loss of `clearhead.fast.loss`, and the predictions are drawn together:

.. math::
    A &= L(p) + L(q) + \alpha D, \qquad
    D = \tfrac{1}{2} \left( KL(p \| q) + KL(q \| p) \right) \\
    \partial A / \partial logits_p &= \partial L / \partial logits_p + \tfrac{\alpha}{2}
        \left( p \circ (\log p - \log q - KL(p \| q)) + p - q \right)

and the same with p and q exchanged. The logits are computed once for both terms, and their
gradients go through the projection once: the second term costs no matrix product.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from clearhead.fast.loss import Gradients, mean_of

# Elements in a chunk, of float32; four chunks are alive at a time.
CHUNK = 2**22


def projected_agreement(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor,
    labels: Tensor,
    smoothing: float,
    consistency: float,
) -> tuple[Tensor, Tensor]:
    """Summed A, and the summed plain negative log-likelihood of the labels in both passes.

    Only the first carries a gradient.

    Shape:
        hidden: (2 · tokens, d_model), all positions of one pass, then all of the other;
        weight: (vocab, d_model), bias: (vocab,), labels: (2 · tokens,) ids
        -> two scalars, float32 (float64 for float64 input)
    """
    # (2 · tokens, …) -> (tokens, 2, …) -> (2 · tokens, …): both predictions of a label adjacent
    hidden, labels = (torch.stack(x.chunk(2), dim=1).flatten(0, 1) for x in (hidden, labels))
    loss, nll = _ProjectedAgreement.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, labels, smoothing, consistency
    )
    return loss, nll


class _ProjectedAgreement(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        labels: Tensor,
        smoothing: float,
        consistency: float,
    ) -> tuple[Tensor, Tensor]:
        exact = torch.float64 if hidden.dtype == torch.float64 else torch.float32
        grads = Gradients(len(weight), exact)
        loss = nll = torch.zeros((), dtype=exact, device=hidden.device)
        rows = 2 * max(1, CHUNK // (2 * len(weight)))
        for x, y in zip(hidden.split(rows), labels.split(rows), strict=True):
            log_p = F.linear(x, weight, bias).to(exact).log_softmax(dim=1)
            chunk_nll = -log_p.gather(1, y[:, None]).sum()
            even = -log_p.mean(dim=1).sum()
            apart, pulled = _pulled_together(log_p.unflatten(0, (-1, 2)), consistency / 2)
            nll = nll + chunk_nll
            loss = loss + (1 - smoothing) * chunk_nll + smoothing * even + consistency * apart
            grads.add(pulled.flatten(0, 1).to(x.dtype), x, y, weight, smoothing)
        ctx.save_for_backward(*grads.finish(hidden, mean_of(weight, bias, exact), smoothing))
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        return *(saved * grad.to(saved.dtype) for saved in ctx.saved_tensors), None, None, None


class _Pull(NamedTuple):
    apart: Tensor  # summed D
    probabilities: Tensor  # (chunk, 2, vocab): gradients of both, without the labels' part


def _pulled_together(log: Tensor, share: float) -> _Pull:
    """(chunk, 2, vocab) log-probabilities -> D, and the gradient of A without the labels' part."""
    p, q = log.exp().unbind(dim=1)
    ratio = torch.sub(*log.unbind(dim=1))
    p_to_q = (p * ratio).sum(dim=1, keepdim=True)
    q_to_p = -(q * ratio).sum(dim=1, keepdim=True)
    ratio.mul_(share)
    to_p, to_q = (pulled := torch.empty_like(log)).unbind(dim=1)
    torch.add(1 + share - share * p_to_q, ratio, out=to_p).mul_(p).sub_(q, alpha=share)
    torch.sub(1 + share - share * q_to_p, ratio, out=to_q).mul_(q).sub_(p, alpha=share)
    return _Pull((p_to_q + q_to_p).sum() / 2, pulled)
