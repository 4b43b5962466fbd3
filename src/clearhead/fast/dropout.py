"""Dropout from one random byte a number instead of one random double.

`torch.nn.Dropout` on the CPU draws a double for every number, one after the
other: of a small Transformer's training step that alone is a tenth. A byte
gives the same independent coin for an eighth of the generator's work; its rate
is a multiple of 1/256, and the scale uses that rate, so the mean is exact.
"""

import torch
from torch import Tensor, nn


class CheapDropout(nn.Module):
    """`nn.Dropout` whose rate is rounded to the nearest multiple of 1/256.

    Shape:
        any -> the same
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        # Only p = 0 keeps everything, only p = 1 drops everything.
        self.threshold = int(p) * 256 if p in (0, 1) else min(255, max(1, round(p * 256)))

    @classmethod
    def twin(cls, dropout: nn.Dropout) -> "CheapDropout":
        """The cheap one of the same rate."""
        return cls(dropout.p)

    def forward(self, x: Tensor) -> Tensor:
        """Some numbers become 0, the others grow by what is lost; at rest nothing happens."""
        if not self.training or self.threshold == 0:
            return x
        if self.threshold >= 256:
            return x * 0.0
        return x * keep_mask(x, self.threshold)

    def extra_repr(self) -> str:
        """The rate, for `print`."""
        return f"p={self.threshold}/256"


def keep_mask(x: Tensor, threshold: int) -> Tensor:
    """0 with probability threshold / 256, else the scale that keeps the mean; of x's shape."""
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device)
    words.random_(-(2**63), None)  # 8 independent bytes in each
    keep = words.view(torch.uint8)[: x.numel()].ge_(threshold)  # in place: 1 = keep
    return keep.to(x.dtype).mul_(256 / (256 - threshold)).view(x.shape)
