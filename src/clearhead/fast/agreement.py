r"""R-Drop's loss in one go, in chunks: two predictions of a label that shall agree.

What dropout makes of a place twice are the logits of p and of q. Both shall know the label y, as
in `loss`, whose L this is, and both shall be near each other (Liang et al. 2021, equation 4):

.. math::
    A &= L(p) + L(q) + \alpha D, \qquad
    D = \tfrac{1}{2} \left( KL(p \| q) + KL(q \| p) \right) \\
    \partial A / \partial logits_p &= \partial L / \partial logits_p + \tfrac{\alpha}{2}
        \left( p \circ (\log p - \log q - KL(p \| q)) + p - q \right)

and the same with p and q exchanged. The logits are computed once for both terms, and their
gradients go through the projection once: the term costs no product.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from clearhead.fast.linear import linear
from clearhead.fast.loss import Gradients, mean_of

# Numbers in a chunk, of float32, of which four are alive at a time.
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
        hidden: (2 · tokens, d_model), all places of one pass, then all of the other;
        weight: (vocab, d_model), bias: (vocab,), labels: (2 · tokens,) ids
        -> two scalars, float32 (float64 for float64 input)
    """
    # (2 · tokens, …) -> (tokens, 2, …) -> (2 · tokens, …): both predictions of a place together
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
            log_p = linear(x, weight, bias).to(exact).log_softmax(dim=1)
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
    probabilities: Tensor  # (chunk, 2, vocab): p, and what makes it more like q, and vice versa


def _pulled_together(log: Tensor, share: float) -> _Pull:
    """(chunk, 2, vocab) log-probabilities -> D, and the gradient of A but for the labels' part."""
    p, q = log.exp().unbind(dim=1)
    ratio = torch.sub(*log.unbind(dim=1))
    p_to_q = (p * ratio).sum(dim=1, keepdim=True)
    q_to_p = -(q * ratio).sum(dim=1, keepdim=True)
    ratio.mul_(share)
    to_p, to_q = (pulled := torch.empty_like(log)).unbind(dim=1)
    torch.add(1 + share - share * p_to_q, ratio, out=to_p).mul_(p).sub_(q, alpha=share)
    torch.sub(1 + share - share * q_to_p, ratio, out=to_q).mul_(q).sub_(p, alpha=share)
    return _Pull((p_to_q + q_to_p).sum() / 2, pulled)
