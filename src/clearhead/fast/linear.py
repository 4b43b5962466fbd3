r"""A linear layer whose bias is added while the product is still in the processor's registers.

.. math:: y = x W^T + b

`torch.nn.Linear` in bfloat16 on a CPU first writes b into every row of y, then lets
the product add itself to it: y is written twice and read once. The kernel that torch
keeps for its compiler adds b on the way out. Gain in isolation on an AVX512-BF16
machine: 14 % of the vocabulary's product, 5 to 10 % of the others.
"""

from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from clearhead.fast.twin import same_insides

# Not a public name, so it may go: then `F.linear` does the work.
_KERNEL = getattr(torch.ops.mkldnn, "_linear_pointwise", None)


class FusedLinear(nn.Linear):
    """`nn.Linear` through `linear`.

    Shape:
        (..., in_features) -> (..., out_features)
    """

    @classmethod
    def twin(cls, layer: nn.Linear) -> Self:
        """One with the other's parameters."""
        return same_insides(cls, layer)

    def forward(self, x: Tensor) -> Tensor:
        """The formula above."""
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`F.linear`, by the kernel that is fastest for it."""
    if bias is None or not _kernel_takes(x):
        return F.linear(x, weight, bias)
    if not torch.is_grad_enabled():
        return _forward(x, weight, bias)
    y: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return y


def _kernel_takes(x: Tensor) -> bool:
    return (
        _KERNEL is not None
        and x.dtype == torch.bfloat16
        and x.device.type == "cpu"
        and x.dim() > 1
        and x.numel() > 0
        and torch.backends.mkldnn.is_available()
    )


def _forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    assert _KERNEL is not None
    y: Tensor = _KERNEL(x, weight, bias, "none", [], "")
    return y


class _Linear(torch.autograd.Function):
    """The kernel knows no gradient; these are the three that the formula has."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _forward(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        rows = grad.flatten(0, -2)  # (..., out) -> (tokens, out)
        to_x = (rows @ weight).view_as(x) if ctx.needs_input_grad[0] else None
        return to_x, rows.t() @ x.flatten(0, -2), rows.sum(0)
