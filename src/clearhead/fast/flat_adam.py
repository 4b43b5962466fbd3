"""Adam over one long vector instead of a hundred small ones, with float32 masters.

All parameters become views of one flat buffer and all gradients of another:
clipping is one norm, the update one fused kernel, gradient zeroing one fill.
In bfloat16 the buffer is a rounded copy of float32 master weights, so that
steps too small for bfloat16's 8 bits still add up (Micikevicius et al. 2018).
"""

import torch
from torch import Tensor, nn


class FlatAdam:
    """Adam (Kingma and Ba 2015) with decoupled weight decay, for the whole model at once.

    `grad_norm` of a step is measured before clipping. A step whose gradient is
    not finite changes nothing and returns False.
    """

    def __init__(
        self,
        model: nn.Module,
        betas: tuple[float, float] = (0.9, 0.98),
        eps: float = 1e-9,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        parameters = [p for p in model.parameters() if p.requires_grad]  # shared ones once
        self.master = torch.cat([p.detach().float().flatten() for p in parameters])
        self.working = self.master if dtype == torch.float32 else self.master.to(dtype)
        self.gradient = torch.zeros_like(self.working)
        _become_views(parameters, self.working, self.gradient)
        for buffer in model.buffers():
            buffer.data = buffer.data.to(dtype) if buffer.is_floating_point() else buffer.data
        self.master.grad = torch.zeros_like(self.master)
        self.engine = torch.optim.AdamW(
            [self.master], lr=0.0, betas=betas, eps=eps, weight_decay=weight_decay, fused=True
        )
        self.grad_norm = 0.0

    def accumulate(self) -> None:
        """Add the micro-batch's gradients to the step's, in float32, and clear them."""
        assert self.master.grad is not None
        self.master.grad += self.gradient
        self.gradient.zero_()

    def step(self, lr: float, scale: float, max_norm: float) -> bool:
        """Update with the accumulated gradient times `scale`, clipped to `max_norm` (0: not)."""
        grad = self.master.grad
        assert grad is not None
        self.grad_norm = float(torch.linalg.vector_norm(grad)) * scale
        finite = self.grad_norm < float("inf")  # False for NaN, too
        if finite:
            clip = min(1.0, max_norm / (self.grad_norm + 1e-6)) if max_norm else 1.0
            grad.mul_(scale * clip)
            self.engine.param_groups[0]["lr"] = lr
            self.engine.step()
            if self.working is not self.master:
                self.working.copy_(self.master)
        grad.zero_()
        return finite

    def state(self) -> dict[str, Tensor]:
        """Masters and moments: all that the next step depends on."""
        moments = self.engine.state.get(self.master, {})
        zero = torch.zeros_like(self.master)
        return {
            "master": self.master,
            "exp_avg": moments.get("exp_avg", zero),
            "exp_avg_sq": moments.get("exp_avg_sq", zero),
            "adam_step": torch.as_tensor(moments.get("step", 0.0), dtype=torch.float32),
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from `state`, in place: the model's parameters follow."""
        self.master.copy_(state["master"])
        self.working.copy_(self.master)
        self.engine.state[self.master] = {
            "step": state["adam_step"].clone(),
            "exp_avg": state["exp_avg"].to(self.master.device, copy=True),
            "exp_avg_sq": state["exp_avg_sq"].to(self.master.device, copy=True),
        }


def _become_views(parameters: list[nn.Parameter], values: Tensor, gradients: Tensor) -> None:
    offset = 0
    for parameter in parameters:
        part = slice(offset, offset + parameter.numel())
        parameter.data = values[part].view(parameter.shape)
        parameter.grad = gradients[part].view(parameter.shape)
        offset = part.stop
