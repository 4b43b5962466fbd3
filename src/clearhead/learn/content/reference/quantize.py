"""Symmetric int8 quantization of a weight matrix, one scale for each row."""

import torch
from torch import Tensor


def quantize(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Integers from -127 to 127, and the scale of each row: weight ≈ integers · scale.

    Shape:
        weight: (rows, columns) -> int8 (rows, columns), float (rows, 1)
    """
    scale = weight.abs().amax(dim=1, keepdim=True) / 127  # (rows, 1)
    return (weight / scale).round().to(torch.int8), scale
