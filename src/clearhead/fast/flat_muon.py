r"""Muon: the matrices of the layers take steps whose every direction is equally long.

Adam scales each number by itself. A matrix acts as a whole, though, and its
gradient mostly points in a few directions; Muon (Jordan et al. 2024) steps along

.. math::  U V^T  \quad\text{where}\quad  U S V^T = momentum

so that the rare directions are learned, too. The factor :math:`0.2 \sqrt{\max(rows, cols)}`
makes its steps as long as Adam's, whose learning rate it shares (Liu et al. 2025,
"Muon is scalable for LLM training", equation 4). All that is no matrix of a layer
(embeddings, output, biases, gains) stays with Adam.
"""

import math
from itertools import groupby

import torch
from torch import Tensor, nn

from clearhead.fast.flat_adam import Adam
from clearhead.fast.flat_optimizer import FlatOptimizer, rounded_buffers
from clearhead.fast.orthogonalize import orthogonalize


class FlatMuon(FlatOptimizer):
    """Muon with Nesterov momentum for the layers' matrices, Adam for the rest.

    Matrices of one shape lie side by side in the vector: a stack of them is a view.
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
        known = set(matrices)
        rest = [p for p in model.parameters() if p.requires_grad and p not in known]
        super().__init__([*matrices, *rest], rounded_buffers(model), dtype)
        self.shapes = [(len(list(g)), *s) for s, g in groupby(matrices, key=lambda p: p.shape)]
        first = sum(p.numel() for p in matrices)
        self.velocity = torch.zeros_like(self.master[:first])
        self.momentum, self.weight_decay = momentum, weight_decay
        self.adam = Adam(self.master[first:], self.total[first:], betas, eps, weight_decay)

    def _update(self, lr: float) -> None:
        self.adam.step(lr)
        gradient, weights = (v[: len(self.velocity)] for v in (self.total, self.master))
        self.velocity.lerp_(gradient, 1 - self.momentum)
        gradient.lerp_(self.velocity, self.momentum)  # Nesterov: where the momentum is going
        weights.mul_(1 - lr * self.weight_decay)
        for stack, step in zip(self._stacks(weights), self._stacks(gradient), strict=True):
            length = 0.2 * math.sqrt(max(step.shape[1:]))
            stack.sub_(orthogonalize(step), alpha=lr * length)

    def _stacks(self, flat: Tensor) -> list[Tensor]:
        """(numbers) -> one (matrices, rows, columns) for each shape"""
        pieces = flat.split([math.prod(shape) for shape in self.shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    def state(self) -> dict[str, Tensor]:
        """Masters, momentum and Adam's moments: all that the next step depends on."""
        return {"master": self.master, "velocity": self.velocity, **self.adam.state()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from `state`, in place: the model's parameters follow."""
        super().restore(state)
        self.velocity.copy_(state["velocity"])
        self.adam.restore(state)


def layer_matrices(model: nn.Module) -> list[nn.Parameter]:
    """The weights with two axes that stand in a stack of layers, each once."""
    stacks = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    found = (p for stack in stacks for p in stack.parameters())
    return list(dict.fromkeys(p for p in found if p.ndim == 2 and p.requires_grad))
