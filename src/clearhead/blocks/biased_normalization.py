"""Layer normalization as its authors wrote it and as trained models use it (Ba et al. 2016)."""

import torch.nn.functional as F
from torch import Tensor

from clearhead.blocks.normalization import LayerNormalization


class BiasedLayerNormalization(LayerNormalization):
    r"""`LayerNormalization` with the *biased* variance and epsilon inside the root.

    .. math:: \alpha \, \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \text{bias},
              \qquad \sigma^2 = \frac{1}{n} \sum_i (x_i - \mu)^2

    This is `torch.nn.LayerNorm`, whose weight is our alpha. Which of the two formulas a
    model was trained with is part of its weights: with the other one its numbers are off
    by a factor of :math:`\sqrt{n / (n - 1)}` at every norm.

    Its kernel is called here, for it sums in float32 also where x is bfloat16.

    Shape:
        x: (..., features) -> the same
    """

    def __init__(self, features: int, eps: float = 1e-5) -> None:
        super().__init__(features, eps)

    def forward(self, x: Tensor) -> Tensor:
        """The formula above, over the last axis."""
        return F.layer_norm(x, x.shape[-1:], self.alpha, self.bias, self.eps)
