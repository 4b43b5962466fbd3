r"""The nearest matrix whose singular values are all one, by matrix products alone.

.. math::  X \leftarrow a X + (b A + c A^2) X, \quad A = X X^T

moves every singular value :math:`s` to :math:`a s + b s^3 + c s^5` and leaves the
singular vectors as they are (Newton–Schulz). With Jordan's coefficients five rounds
bring whatever is above a thousandth between 0.7 and 1.2: near enough for a step
direction, and bfloat16 is exact enough for it, where it is the faster format.
"""

import torch
from torch import Tensor

from clearhead.fast.processor import multiplies_bfloat16

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # Jordan et al. 2024, steepest at zero


def orthogonalize(stack: Tensor, rounds: int = 5) -> Tensor:
    """(n, rows, columns) -> (n, rows, columns), in the same number format"""
    a, b, c = COEFFICIENTS
    wide = stack.mT if stack.shape[1] > stack.shape[2] else stack  # the smaller product
    x = wide / (torch.linalg.matrix_norm(wide, keepdim=True) + 1e-12)
    x = x.bfloat16() if multiplies_bfloat16(x.device) else x
    for _ in range(rounds):
        square = x @ x.mT  # (n, columns, rows) -> (n, rows, rows)
        polynomial = torch.baddbmm(square, square, square, beta=b, alpha=c)
        x = torch.baddbmm(x, polynomial, x, beta=a)
    return (x.mT if wide is not stack else x).to(stack.dtype)
