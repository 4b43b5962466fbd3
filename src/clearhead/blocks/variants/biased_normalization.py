"""Layer normalization as in its own paper and in trained models (Ba et al. 2016)."""

import torch.nn.functional as F
from torch import Tensor

from clearhead.blocks.checks import check_features
from clearhead.blocks.normalization import LayerNormalization


class BiasedLayerNormalization(LayerNormalization):
    r"""`LayerNormalization` with the *biased* variance and epsilon inside the root.

    .. math:: \alpha \, \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \text{bias},
              \qquad \sigma^2 = \frac{1}{n} \sum_i (x_i - \mu)^2

    It equals `torch.nn.LayerNorm`, whose weight is our alpha. Weights are trained for one of
    the two formulas; with the other one, each norm is off by a factor of
    :math:`\sqrt{n / (n - 1)}`.

    torch's kernel computes it, because it sums in float32 even where x is bfloat16.

    Shape:
        x: (..., features) -> the same
    """

    def __init__(self, features: int, eps: float = 1e-5) -> None:
        super().__init__(features, eps)

    def forward(self, x: Tensor) -> Tensor:
        """The formula above, over the last axis."""
        check_features("x", x, self.alpha.numel())
        return F.layer_norm(x, x.shape[-1:], self.alpha, self.bias, self.eps)
