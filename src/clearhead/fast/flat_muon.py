r"""Muon: the matrices of the layers take steps of equal length in every direction.

Adam scales each element by itself. A matrix acts as a whole, though, and its
gradient mostly points in a few directions; Muon (Jordan et al. 2024) steps along

.. math::  U V^T  \quad\text{where}\quad  U S V^T = momentum

so that rare directions are learned, too. The factor :math:`0.2 \sqrt{\max(rows, columns)}`
makes its steps as long as Adam's, whose learning rate it shares (Liu et al. 2025,
"Muon is scalable for LLM training", equation 4). All other parameters
(embeddings, projection, biases, norms) stay with Adam.
"""

import math
from itertools import groupby

import torch
from torch import Tensor, nn

from clearhead.fast.flat_optimizer import FlatAdam
from clearhead.fast.processor import multiplies_bfloat16

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # Jordan et al. 2024, steepest at zero


class FlatMuon(FlatAdam):
    """Muon with Nesterov momentum for the layers' matrices, Adam for the rest.

    Matrices of one shape are adjacent in the vector, so a stack of them is a view.
    """

    def __init__(
        self,
        model: nn.Module,
        betas: tuple[float, float] = (0.9, 0.98),
        eps: float = 1e-9,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.float32,
        momentum: float = 0.95,
    ) -> None:
        matrices = sorted(layer_matrices(model), key=lambda p: p.shape)
        super().__init__(model, betas, eps, weight_decay, dtype, matrices)
        self.shapes = [(len(list(g)), *s) for s, g in groupby(matrices, key=lambda p: p.shape)]
        self.velocity = torch.zeros_like(self.master[: sum(p.numel() for p in matrices)])
        self.momentum = momentum

    def _update(self, lr: float) -> None:
        gradient, weights = (v[: len(self.velocity)] for v in (self.total, self.master))
        self.velocity.lerp_(gradient, 1 - self.momentum)
        gradient.lerp_(self.velocity, self.momentum)  # Nesterov: where the momentum is going
        weights.mul_(1 - lr * self.weight_decay)
        for stack, step in zip(self._stacks(weights), self._stacks(gradient), strict=True):
            length = 0.2 * math.sqrt(max(step.shape[1:]))
            stack.sub_(orthogonalize(step), alpha=lr * length)

    def _stacks(self, flat: Tensor) -> list[Tensor]:
        """(elements,) -> one (matrices, rows, columns) for each shape"""
        pieces = flat.split([math.prod(shape) for shape in self.shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    def state(self) -> dict[str, Tensor]:
        """As `FlatAdam.state`, with the momentum of the matrices."""
        return {**super().state(), "velocity": self.velocity}


def layer_matrices(model: nn.Module) -> list[nn.Parameter]:
    """The two-dimensional weights inside stacks of layers, each once."""
    stacks = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    found = (p for stack in stacks for p in stack.parameters())
    return list(dict.fromkeys(p for p in found if p.ndim == 2 and p.requires_grad))


def orthogonalize(stack: Tensor, rounds: int = 5) -> Tensor:
    r"""The nearest matrices whose singular values are all one, by matrix products alone.

    .. math::  X \leftarrow a X + (b A + c A^2) X, \quad A = X X^T

    maps every singular value :math:`s` to :math:`a s + b s^3 + c s^5` and keeps the singular
    vectors (Newton-Schulz). Five rounds bring every value above 0.002 to between 0.68 and 1.21,
    near enough to 1 for a direction; bfloat16 is exact enough for it where it is fast.

    Shape: (n, rows, columns) -> the same
    """
    a, b, c = COEFFICIENTS
    wide = stack.mT if stack.shape[1] > stack.shape[2] else stack  # the smaller product
    x = wide / (torch.linalg.matrix_norm(wide, keepdim=True) + 1e-12)
    x = x.bfloat16() if multiplies_bfloat16(x.device) else x
    for _ in range(rounds):
        square = x @ x.mT  # (n, rows, columns) @ (n, columns, rows) -> (n, rows, rows)
        polynomial = torch.baddbmm(square, square, square, beta=b, alpha=c)
        x = torch.baddbmm(x, polynomial, x, beta=a)
    return (x.mT if wide is not stack else x).to(stack.dtype)
