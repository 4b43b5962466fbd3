"""Dropout from one random byte a number instead of one random double.

`torch.nn.Dropout` on the CPU draws a double for every number, one after the
other: of a small Transformer's training step that alone is a tenth. A byte
gives the same independent coin for an eighth of the generator's work; its rate
is a multiple of 1/256, and the scale uses that rate, so the mean is exact.

The bytes come from NumPy's SFC64, which takes half as long as torch's Mersenne
Twister; each draw is seeded by torch, so `torch.manual_seed` rules them as well.
"""

import numpy as np
import torch
from torch import Tensor, nn

Shape = tuple[int, ...]


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
        factors = draw_factors(self, x.shape, x.dtype, x.device)
        return x if factors is None else x * factors

    def extra_repr(self) -> str:
        """The rate, for `print`."""
        return f"p={self.threshold}/256"


def draw_factors(
    dropout: nn.Module, shape: Shape, dtype: torch.dtype, device: torch.device
) -> Tensor | None:
    """What `dropout` multiplies numbers of this shape with: 0, or 1 / (1 - its rate).

    None: it lets everything through.
    """
    if not dropout.training:
        return None
    if not isinstance(dropout, CheapDropout):
        factors: Tensor = dropout(torch.ones(shape, dtype=dtype, device=device))
        return factors
    if dropout.threshold == 0:
        return None
    if dropout.threshold >= 256:
        return torch.zeros(shape, dtype=dtype, device=device)
    return keep_mask(shape, dropout.threshold, dtype, device)


def keep_mask(shape: Shape, threshold: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """0 with probability threshold / 256, else the scale that keeps the mean."""
    numbers = torch.Size(shape).numel()
    keep = _random_bytes(numbers, device).ge_(threshold)  # in place: 1 = keep
    scale = 256 / (256 - threshold)
    if dtype == torch.bfloat16:
        # Its 16 bits as an integer, times 0 or 1: four times as fast as a product of bfloat16.
        bits = int(torch.tensor(scale, dtype=dtype).view(torch.int16))
        return keep.to(torch.int16).mul_(bits).view(dtype).view(shape)
    return keep.to(dtype).mul_(scale).view(shape)


def _random_bytes(count: int, device: torch.device) -> Tensor:
    if device.type != "cpu" or torch.compiler.is_compiling():
        return torch.randint(0, 256, (count,), dtype=torch.uint8, device=device)
    seed = int(torch.empty((), dtype=torch.int64).random_())
    raw = np.random.SFC64(seed).random_raw((count + 7) // 8)  # 8 independent bytes in each
    return torch.from_numpy(raw.view(np.uint8)[:count])
