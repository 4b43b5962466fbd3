"""Adam over one long vector instead of a hundred small ones, with float32 masters."""

import torch
from torch import Tensor, nn

from clearhead.fast.flat_optimizer import FlatOptimizer, rounded_buffers


class FlatAdam(FlatOptimizer):
    """Adam (Kingma and Ba 2015) with decoupled weight decay, for the whole model at once."""

    def __init__(
        self,
        model: nn.Module,
        betas: tuple[float, float] = (0.9, 0.98),
        eps: float = 1e-9,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        # A shared parameter is listed once.
        parameters = [p for p in model.parameters() if p.requires_grad]
        super().__init__(parameters, rounded_buffers(model), dtype)
        self.adam = Adam(self.master, self.total, betas, eps, weight_decay)

    def _update(self, lr: float) -> None:
        self.adam.step(lr)

    def state(self) -> dict[str, Tensor]:
        """Masters and moments: all that the next step depends on."""
        return {"master": self.master, **self.adam.state()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from `state`, in place: the model's parameters follow."""
        super().restore(state)
        self.adam.restore(state)


class Adam:
    """torch's fused AdamW on one vector and its gradient, whose moments can be put back."""

    def __init__(
        self,
        weights: Tensor,
        gradient: Tensor,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
    ) -> None:
        self.weights = weights.detach()  # a view of its own, to which the gradient is tied
        self.weights.grad = gradient
        self.engine = torch.optim.AdamW(
            [self.weights], lr=0.0, betas=betas, eps=eps, weight_decay=weight_decay, fused=True
        )

    def step(self, lr: float) -> None:
        """One update, in place."""
        self.engine.param_groups[0]["lr"] = lr
        self.engine.step()

    def state(self) -> dict[str, Tensor]:
        """Both moments and the number of steps."""
        moments = self.engine.state.get(self.weights, {})
        zero = torch.zeros_like(self.weights)
        return {
            "exp_avg": moments.get("exp_avg", zero),
            "exp_avg_sq": moments.get("exp_avg_sq", zero),
            "adam_step": torch.as_tensor(moments.get("step", 0.0), dtype=torch.float32),
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take up copies of saved moments."""
        names = {"step": "adam_step", "exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"}
        self.engine.state[self.weights] = {
            ours: state[saved].to(self.weights.device, copy=True) for ours, saved in names.items()
        }
