"""Keeping every token's vector at one scale (paper, section 3.1; Ba et al. 2016)."""

import torch
from torch import Tensor, nn


class LayerNormalization(nn.Module):
    r"""Each token's vector is centred, divided by its spread, then scaled and shifted.

    .. math:: \alpha \, \frac{x - \mu}{\sigma + \epsilon} + \text{bias}

    with the mean and the *unbiased* standard deviation over the last axis, and
    epsilon outside the root, as the teaching sources write it. Call forms:
    ``LayerNormalization()`` has one alpha and one bias in all (the step-by-step
    guide), ``LayerNormalization(features)`` one per feature (Part 1).

    `torch.nn.LayerNorm` divides by the *biased* deviation, which is smaller by
    :math:`\sqrt{(n - 1) / n}` over n features, and has epsilon inside the root.
    Without epsilon the two agree when our :math:`\alpha = \gamma \sqrt{n / (n - 1)}`,
    gamma being the weight there: [1, 0, 0, 0] becomes 1.5 at its first place here
    and 1.732 there.

    Shape:
        x: (..., features) -> the same
    """

    def __init__(self, features: int | None = None, eps: float = 1e-6) -> None:
        super().__init__()
        if isinstance(features, float):  # LayerNormalization(1e-6): epsilon alone
            features, eps = None, features
        self.eps = eps
        self.alpha = nn.Parameter(torch.ones(features or 1))
        self.bias = nn.Parameter(torch.zeros(features or 1))

    def forward(self, x: Tensor) -> Tensor:
        """The formula above, over the last axis."""
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        std = x.std(dim=-1, keepdim=True)  # (..., 1)
        return self.alpha * (x - mean) / (std + self.eps) + self.bias

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        return f"features={self.alpha.numel()}, eps={self.eps}"
