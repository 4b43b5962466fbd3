r"""Dropout and the sum of a residual connection in one walk through memory.

.. math:: x + \text{Sublayer}(\text{Norm}(x)) \circ D

with D the dropout's 0 or 1 / (1 - p). What the sublayer said is read once, and nothing is
written but the sum; in bfloat16 that is rounded once instead of twice.
"""

from typing import Self

import torch
from torch import Tensor

from clearhead.blocks.residual import ResidualConnection, Sublayer
from clearhead.fast.dropout import draw_factors
from clearhead.fast.twin import same_insides


class FastResidualConnection(ResidualConnection):
    """`ResidualConnection`; the norm and the dropout are the same modules."""

    @classmethod
    def twin(cls, residual: ResidualConnection) -> Self:
        """One with the other's norm and dropout."""
        return same_insides(cls, residual)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Norm, sublayer, add."""
        y = sublayer(self.norm(x))
        kept = draw_factors(self.dropout, y.shape, y.dtype, y.device)
        return x + y if kept is None else torch.addcmul(x, y, kept)
