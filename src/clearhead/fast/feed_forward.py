r"""The feed-forward block with relu and dropout in one place, and one gradient for both.

.. math:: y = \max(0, x) \circ D, \qquad dx = dy \circ [y > 0] / (1 - p)

with D the dropout's 0 or 1 / (1 - p). The trick: y itself tells where both relu and
dropout let through (only there it is above 0), so neither the relu's result nor D is
kept, and the widest tensor of a layer stands in memory once instead of three times.
"""

from typing import Any, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from clearhead.blocks.feed_forward import FeedForwardBlock
from clearhead.fast.dropout import draw_factors, scale_of
from clearhead.fast.twin import same_insides


class FastFeedForwardBlock(FeedForwardBlock):
    """`FeedForwardBlock` through `relu_dropout`; the linear layers are the same modules."""

    @classmethod
    def twin(cls, block: FeedForwardBlock) -> Self:
        """One with the other's layers and dropout."""
        return same_insides(cls, block)

    def forward(self, x: Tensor) -> Tensor:
        """Equation 2."""
        wide: Tensor = self.linear_1(x)
        factors = draw_factors(self.dropout, wide.shape, wide.dtype, wide.device)
        if factors is None:
            return self.linear_2(torch.relu(wide))
        return self.linear_2(relu_dropout(wide, factors, scale_of(self.dropout)))


def relu_dropout(x: Tensor, factors: Tensor, scale: float) -> Tensor:
    """relu(x) * factors, each of which is 0 or `scale`."""
    y: Tensor = _ReluDropout.apply(x, factors, scale)  # type: ignore[no-untyped-call]
    return y


class _ReluDropout(torch.autograd.Function):
    """The formulas at the top."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factors: Tensor, scale: float) -> Tensor:
        y = torch.relu(x).mul_(factors)
        ctx.save_for_backward(y)
        ctx.scale = scale
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grad, y, 0).mul_(ctx.scale), None, None
