"""Adam over one long vector instead of a hundred small ones, with float32 masters.

All parameters become views of one flat buffer and all gradients of another:
clipping is one norm, the update one fused kernel, gradient zeroing one fill.
In bfloat16 the buffer is a rounded copy of float32 master weights, so that
steps too small for bfloat16's 8 bits still add up (Micikevicius et al. 2018).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from clearhead.errors import UserError

PIECE = 2**18  # numbers that are converted at a time: 1 MB of float32, which stays in cache


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
        # A shared parameter is listed once.
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.master = torch.cat([p.detach().float().flatten() for p in self.parameters])
        self.working = self.master if dtype == torch.float32 else self.master.to(dtype)
        self.gradient = torch.zeros_like(self.working)
        self._point_at(self.working)
        for parameter, part in self._parts(self.gradient):
            parameter.grad = part
        for buffer in model.buffers():
            buffer.data = buffer.data.to(dtype) if buffer.is_floating_point() else buffer.data
        # In float32 the step's gradient is the model's own: autograd sums it up by itself.
        same = self.working is self.master
        self.master.grad = self.gradient if same else torch.zeros_like(self.master)
        self._begun = False  # whether master.grad holds a micro-batch of this step
        self.engine = torch.optim.AdamW(
            [self.master], lr=0.0, betas=betas, eps=eps, weight_decay=weight_decay, fused=True
        )
        self.grad_norm = 0.0

    def accumulate(self) -> None:
        """Add the micro-batch's gradients to the step's, in float32, and clear them."""
        total = self.master.grad
        assert total is not None
        if self.working is self.master:
            return
        if self._begun:
            # Adding two number formats is ten times slower than converting, then adding.
            for part, more in zip(total.split(PIECE), self.gradient.split(PIECE), strict=True):
                part += more.float()
        else:
            total.copy_(self.gradient)
        self.gradient.zero_()
        self._begun = True

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
            self._publish()
        if self.working is self.master:
            grad.zero_()
        self._begun = False
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
        """Continue from `state`, in place: the model's parameters follow.

        Raises:
            UserError: the state is of a model with other sizes.
        """
        names = {"step": "adam_step", "exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"}
        moments = {ours: state[saved] for ours, saved in names.items()}
        found, expected = state["master"].numel(), self.master.numel()
        if found != expected:
            raise UserError(
                f"the saved state holds {found} numbers, the model {expected}; "
                "go on with the sizes that the run was started with"
            )
        device = self.master.device
        self.master.copy_(state["master"])
        self._publish()
        self.engine.state[self.master] = {
            name: moment.to(device, copy=True) for name, moment in moments.items()
        }

    @contextmanager
    def masters(self) -> Iterator[None]:
        """Within, the model holds the float32 masters: what is saved has lost nothing."""
        self._point_at(self.master)
        try:
            yield
        finally:
            self._point_at(self.working)

    def _publish(self) -> None:
        """The masters have changed: so do the model's weights, and whoever watches can see it."""
        if self.working is not self.master:
            self.working.copy_(self.master)
        # Parameters are views that autograd does not know of.
        torch.autograd.graph.increment_version(self.parameters)

    def _point_at(self, values: Tensor) -> None:
        for parameter, part in self._parts(values):
            parameter.data = part

    def _parts(self, flat: Tensor) -> Iterator[tuple[nn.Parameter, Tensor]]:
        """Each parameter with the piece of a flat buffer that is its own, in its shape."""
        offset = 0
        for parameter in self.parameters:
            end = offset + parameter.numel()
            yield parameter, flat[offset:end].view(parameter.shape)
            offset = end
