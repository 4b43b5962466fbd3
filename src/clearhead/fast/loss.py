r"""Projection, softmax and label-smoothed cross-entropy in one operation, in chunks.

The formulas written out read and write (tokens, vocab) elements four times: logits,
log-softmax, its gradient, the gradient of the logits. Here the logits of a chunk become
probabilities and then gradients at once, and are discarded.

With labels y, smoothing s over V tokens and probabilities p = softmax(x W^T + b):

.. math::
    L &= -(1 - s) \log p_y - s \, \tfrac{1}{V} \textstyle\sum_v \log p_v \\
    \partial L / \partial logits &= p - (1 - s) \, 1_y - s / V

The last term is the same for every row, so it never touches the (tokens, vocab)
block: it enters x's gradient as one vector and W's as one outer product.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

# Elements in a chunk: 2,097 rows of 8,000, 33 MB in bfloat16. Smaller chunks would stay in
# cache, but each costs one more sum over the whole (vocab, d_model) gradient.
CHUNK = 2**24


def projected_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Summed smoothed loss and summed plain negative log-likelihood of the labels.

    Equal to ``F.cross_entropy(hidden @ weight.T + bias, labels,
    label_smoothing=smoothing, reduction="sum")`` and the same without
    smoothing; only the first carries a gradient.

    Shape:
        hidden: (tokens, d_model), weight: (vocab, d_model), bias: (vocab,),
        labels: (tokens,) ids -> two scalars, float32 (float64 for float64 input)
    """
    loss, nll = _ProjectedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, labels, smoothing
    )
    return loss, nll


class _ProjectedCrossEntropy(torch.autograd.Function):
    """Gradients are computed in the forward pass: only one chunk of logits exists at a time."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        exact = torch.float64 if hidden.dtype == torch.float64 else torch.float32
        vocabulary = Mean(weight.mean(0, dtype=exact), bias.mean(dtype=exact))
        loss = nll = torch.zeros((), dtype=exact, device=hidden.device)
        grads = Gradients(len(weight), exact) if any(ctx.needs_input_grad) else None
        rows = max(1, CHUNK // len(weight))
        for x, y in zip(hidden.split(rows), labels.split(rows), strict=True):
            probabilities, chunk_nll, even = _softmax(x, weight, bias, y[:, None], vocabulary)
            nll = nll + chunk_nll
            loss = loss + (1 - smoothing) * chunk_nll + smoothing * even
            if grads is not None:
                grads.add(probabilities, x, y, weight, smoothing)
            del probabilities  # before the next chunk allocates as much
        if grads is not None:
            ctx.save_for_backward(*grads.finish(hidden, vocabulary, smoothing))
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        return *(saved * grad.to(saved.dtype) for saved in ctx.saved_tensors), None, None


class Mean(NamedTuple):
    """Averages over the vocabulary, for the uniform part of the smoothed target."""

    row: Tensor  # (d_model,), of the projection's weight
    bias: Tensor  # ()


def _softmax(
    x: Tensor, weight: Tensor, bias: Tensor, y: Tensor, vocabulary: Mean
) -> tuple[Tensor, Tensor, Tensor]:
    """Probabilities (chunk, vocab), summed -log p of the labels, and of all tokens on average."""
    exact = vocabulary.row.dtype
    logits = F.linear(x, weight, bias)  # (chunk, d_model) @ (d_model, vocab)
    of_label = logits.gather(1, y).to(exact)
    probabilities = logits.softmax(dim=1)
    log_p = probabilities.gather(1, y).to(exact).log()
    if log_p.isinf().any():  # a probability that underflows: from the logits
        log_p = of_label - logits.logsumexp(dim=1, keepdim=True).to(exact)
    mean_logit = x.to(exact) @ vocabulary.row + vocabulary.bias
    return probabilities, -log_p.sum(), ((of_label - log_p).squeeze(1) - mean_logit).sum()


class Gradients:
    """The gradients of hidden states, weight and bias, summed over the chunks."""

    def __init__(self, vocab: int, exact: torch.dtype) -> None:
        self.vocab, self.exact = vocab, exact
        self.hidden: list[Tensor] = []
        self.weight: Tensor | None = None
        self.bias: Tensor | None = None

    def add(self, p: Tensor, x: Tensor, y: Tensor, weight: Tensor, smoothing: float) -> None:
        """One chunk: the logits' gradient without its constant term, and what follows from it."""
        g = p
        g[torch.arange(len(y), device=y.device), y] -= 1 - smoothing
        self.hidden.append(g @ weight)  # (chunk, vocab) @ (vocab, d_model)
        # (vocab, chunk) @ (chunk, d_model); a product with ones sums faster than `sum`
        self.weight = self._plus(self.weight, g.t() @ x)
        self.bias = self._plus(self.bias, (g.new_ones(1, len(g)) @ g).squeeze(0))

    def _plus(self, total: Tensor | None, more: Tensor) -> Tensor:
        """The sum of many chunks is float32; a single one needs no conversion."""
        return more if total is None else total.to(self.exact) + more.to(self.exact)

    def finish(self, hidden: Tensor, vocabulary: Mean, smoothing: float) -> tuple[Tensor, ...]:
        """Add the constant term, -s / V in every logit, to all three."""
        assert self.weight is not None and self.bias is not None
        share, dtype = smoothing / self.vocab, hidden.dtype
        to_hidden = torch.cat(self.hidden) - (smoothing * vocabulary.row).to(dtype)
        to_weight = self.weight.sub_((share * hidden.sum(0, dtype=self.exact)).to(self.weight))
        return to_hidden, to_weight.to(dtype), self.bias.sub_(share * len(hidden)).to(dtype)
