"""Layer normalization (paper, section 3.1; Ba et al. 2016)."""

import torch
from torch import Tensor, nn

from clearhead.blocks.checks import check_features


class LayerNormalization(nn.Module):
    r"""Normalizes each vector to mean 0 and standard deviation 1, then scales and shifts it.

    .. math:: \alpha \, \frac{x - \mu}{\sigma + \epsilon} + \text{bias}

    with the mean and the *unbiased* standard deviation over the last axis, and
    epsilon outside the root, as the teaching sources write it. Call forms:
    ``LayerNormalization()`` has one alpha and one bias in all (the step-by-step
    guide), ``LayerNormalization(features)`` one for each feature (Part 1).

    `torch.nn.LayerNorm` divides by the *biased* standard deviation, which is smaller by the
    factor :math:`\sqrt{(n - 1) / n}` for n features, and has epsilon inside the root.
    Without epsilon the two agree when our :math:`\alpha = \gamma \sqrt{n / (n - 1)}`,
    gamma being the weight there: the first element of [1, 0, 0, 0] becomes 1.5 here
    and 1.732 there.

    Shape:
        x: (..., features) -> the same

    Raises:
        UserError: the last dimension of x is not `features`.
    """

    def __init__(self, features: int | None = None, eps: float = 1e-6) -> None:
        super().__init__()
        if isinstance(features, float) and features < 1:  # LayerNormalization(1e-6): epsilon alone
            features, eps = None, features
        self.eps = eps
        self.alpha = nn.Parameter(torch.ones(features or 1))
        self.bias = nn.Parameter(torch.zeros(features or 1))

    def forward(self, x: Tensor) -> Tensor:
        """The formula above, with the learned alpha and bias."""
        check_features("x", x, self.alpha.numel())
        return self.normalize(x, self.alpha, self.bias, self.eps)

    @staticmethod
    def normalize(x: Tensor, alpha: Tensor, bias: Tensor, eps: float) -> Tensor:
        """The formula above, over the last axis."""
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        std = x.std(dim=-1, keepdim=True)  # (..., 1)
        return alpha * (x - mean) / (std + eps) + bias

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        return f"features={self.alpha.numel()}, eps={self.eps}"
