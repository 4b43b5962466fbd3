"""Dropout from one random byte an element instead of one random double.

`torch.nn.Dropout` on the CPU draws a double for every element, one after the other: a tenth of a
training step of a small Transformer. A byte is an equally independent draw for an eighth of the
work; the rate becomes a multiple of 1/256. The scale keeps the mean (bfloat16 rounds it by 0.4 %).

The bytes come from NumPy's SFC64, which takes half as long as torch's Mersenne Twister. Each
call seeds it from torch's generator, so `torch.manual_seed` determines them as well.
"""

import numpy as np
import torch
from torch import Tensor, nn


class CheapDropout(nn.Module):
    """`nn.Dropout` whose rate is rounded to the nearest multiple of 1/256.

    Shape:
        any -> the same
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = nn.Dropout(p).p  # which refuses what is no probability

    @property
    def threshold(self) -> int:
        """p in 256ths; only p = 0 keeps everything, only p = 1 drops everything."""
        return int(self.p) * 256 if self.p in (0, 1) else min(255, max(1, round(self.p * 256)))

    def forward(self, x: Tensor) -> Tensor:
        """Set some elements to 0 and scale the others so that the mean stays; training only."""
        threshold = self.threshold if self.training else 0
        if threshold == 0:
            return x
        return x * keep_mask(x, threshold) if threshold < 256 else x * 0

    def extra_repr(self) -> str:
        """The rate, for `print`."""
        return f"p={self.threshold}/256"


def keep_mask(x: Tensor, threshold: int) -> Tensor:
    """As x: 0 with probability threshold / 256, else the scale that keeps the mean."""
    keep = _random_bytes(x.numel(), x.device).ge_(threshold)  # in place: 1 = keep
    scale = 256 / (256 - threshold)
    if x.dtype == torch.bfloat16:
        # Its 16 bits as an integer, times 0 or 1: four times as fast as a product of bfloat16.
        bits = int(torch.tensor(scale, dtype=x.dtype).view(torch.int16))
        return keep.to(torch.int16).mul_(bits).view(x.dtype).view(x.shape)
    return keep.to(x.dtype).mul_(scale).view(x.shape)


def _random_bytes(count: int, device: torch.device) -> Tensor:
    if device.type != "cpu" or torch.compiler.is_compiling():
        return torch.randint(0, 256, (count,), dtype=torch.uint8, device=device)
    seed = int(torch.empty((), dtype=torch.int64).random_())
    raw = np.random.SFC64(seed).random_raw((count + 7) // 8)  # 8 independent bytes in each
    return torch.from_numpy(raw.view(np.uint8)[:count])
