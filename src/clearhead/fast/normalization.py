"""`LayerNormalization` in one pass over memory instead of seven."""

import math

import torch.nn.functional as F
from torch import Tensor

from clearhead.blocks.normalization import LayerNormalization


class FusedLayerNormalization(LayerNormalization):
    r"""The same formula through the fused kernel of `torch.nn.functional.layer_norm`.

    The kernel divides by :math:`\sqrt{\sigma_b^2 + \epsilon'}` with the biased
    deviation; :math:`\sigma = \sigma_b \sqrt{n / (n - 1)}` moves into alpha, and
    :math:`\epsilon' = \epsilon^2` makes the two roots agree where sigma is far
    from epsilon (the relative difference is at most epsilon / sigma).
    """

    @classmethod
    def twin(cls, norm: LayerNormalization) -> "FusedLayerNormalization":
        """A fused layer that shares the other one's parameters."""
        fused = cls(norm.alpha.numel(), norm.eps)
        fused.alpha, fused.bias = norm.alpha, norm.bias
        return fused

    def forward(self, x: Tensor) -> Tensor:
        """Over the last axis, as the readable one."""
        n = x.shape[-1]
        alpha = (self.alpha * math.sqrt((n - 1) / n)).expand(n)
        return F.layer_norm(x, (n,), alpha, self.bias.expand(n), self.eps**2)
