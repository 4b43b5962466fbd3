"""All parameters of a model as one flat vector, with float32 master weights, and Adam on it.

Parameters become views of one flat buffer and gradients of another: clipping is one norm, the
update one fused kernel, a checkpoint a few tensors. In bfloat16 the buffer is a rounded copy
of float32 master weights, so that steps too small for bfloat16's 8 bits of precision still add up
(the method of Micikevicius et al. 2018, who use float16). `FlatMuon` is another optimizer on the
same vector.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from clearhead.blocks.variants.positions import RotaryPositions
from clearhead.errors import UserError

PIECE = 2**18  # elements that are converted at a time: 1 MB of float32, which stays in cache


def rounded_buffers(model: nn.Module) -> Iterator[Tensor]:
    """The buffers that take the parameters' data type.

    The frequencies of rotary positions are excluded: their rounding error, multiplied by the
    position, would make the angle wrong.
    """
    for module in model.modules():
        if not isinstance(module, RotaryPositions):
            yield from module.buffers(recurse=False)


class FlatAdam:
    """Adam (Kingma and Ba 2015) with decoupled weight decay, for the whole model at once.

    `grad_norm` of a step is measured before clipping. A step whose gradient is not finite changes
    nothing and returns False. The parameters `apart` come first in the vector. Adam does not
    update them: a subclass does, in `_update`.
    """

    def __init__(
        self,
        model: nn.Module,
        betas: tuple[float, float] = (0.9, 0.98),
        eps: float = 1e-9,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.float32,
        apart: Sequence[nn.Parameter] = (),
    ) -> None:
        # A shared parameter is listed once.
        trained = [p for p in model.parameters() if p.requires_grad]
        self.parameters = parameters = list(dict.fromkeys([*apart, *trained]))
        self.master = torch.cat([p.detach().float().flatten() for p in parameters])
        self.working = self.master if dtype == torch.float32 else self.master.to(dtype)
        self.gradient = torch.zeros_like(self.working)
        self._point_at(self.working)
        for parameter, part in self._parts(self.gradient):
            parameter.grad = part
        for buffer in rounded_buffers(model):
            buffer.data = buffer.data.to(dtype) if buffer.is_floating_point() else buffer.data
        # In float32 the step's gradient is the model's own: autograd sums it up by itself.
        same = self.working is self.master
        self.total = self.gradient if same else torch.zeros_like(self.master)
        self._begun = False  # whether the total holds a micro-batch of this step
        self.grad_norm = 0.0
        first = sum(p.numel() for p in apart)
        self._weights, self._gradient = self.master[first:].detach(), self.total[first:]
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        self.exp_avg, self.exp_avg_sq = (torch.zeros_like(self._weights) for _ in range(2))
        self.adam_step = torch.zeros((), device=self.master.device)

    def accumulate(self) -> None:
        """Add the micro-batch's gradients to the step's, in float32, and clear them."""
        self._take_in_gradients()
        if self.working is self.master:
            return
        if self._begun:
            # Adding two data types is ten times slower than converting, then adding.
            for part, more in zip(self.total.split(PIECE), self.gradient.split(PIECE), strict=True):
                part += more.float()
        else:
            self.total.copy_(self.gradient)
        self.gradient.zero_()
        self._begun = True

    def step(self, lr: float, scale: float, max_norm: float) -> bool:
        """Update with the accumulated gradient times `scale`, clipped to `max_norm` (0: not)."""
        self._take_in_gradients()
        self.grad_norm = float(torch.linalg.vector_norm(self.total)) * scale
        finite = self.grad_norm < float("inf")  # False for NaN, too
        if finite:
            clip = min(1.0, max_norm / (self.grad_norm + 1e-6)) if max_norm else 1.0
            self.total.mul_(scale * clip)
            self._update(lr)
            self._update_by_adam(lr)
            self._publish()
        if self.working is self.master:
            self.total.zero_()
        self._begun = False
        return finite

    def _take_in_gradients(self) -> None:
        """Those that lie elsewhere go into the vector: `model.zero_grad()` separates them."""
        for parameter, part in self._parts(self.gradient):
            if (own := parameter.grad) is None or own.data_ptr() != part.data_ptr():
                part.zero_() if own is None else part.copy_(own)
                parameter.grad = part

    def _update(self, lr: float) -> None:
        """Update the master weights of `apart` by the clipped gradient in `total`."""

    def _update_by_adam(self, lr: float) -> None:
        # The function, since the first use of the class `AdamW` imports torch's compiler: 0.8 s.
        adamw(
            [self._weights], [self._gradient], [self.exp_avg], [self.exp_avg_sq], [],
            [self.adam_step], fused=True, amsgrad=False, beta1=self.betas[0], beta2=self.betas[1],
            lr=lr, weight_decay=self.weight_decay, eps=self.eps, maximize=False,
        )  # fmt: skip

    def state(self) -> dict[str, Tensor]:
        """Master weights, moments and number of steps: all that the next step depends on."""
        return {
            "master": self.master,
            "exp_avg": self.exp_avg,
            "exp_avg_sq": self.exp_avg_sq,
            "adam_step": self.adam_step,
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a copy of `state`, in place: the model's parameters follow.

        Raises:
            UserError: the state is of another optimizer, or of a model with other sizes.
        """
        if foreign := sorted(state.keys() ^ self.state().keys()):
            raise UserError(
                f"the checkpoint was written by another optimizer ({', '.join(foreign)} occurs in "
                "one of the two only); resume with the optimizer.name of the run"
            )
        found, expected = state["master"].numel(), self.master.numel()
        if found != expected:
            raise UserError(
                f"the checkpoint holds {found} parameters, but the model has {expected}; "
                "resume with the model sizes of the run"
            )
        for name, value in self.state().items():
            value.copy_(state[name])
        self._publish()

    @contextmanager
    def masters(self) -> Iterator[None]:
        """Within, the model holds the float32 master weights, so what is saved is exact."""
        self._point_at(self.master)
        try:
            yield
        finally:
            self._point_at(self.working)

    def _publish(self) -> None:
        """Copy the changed master weights to the model; every parameter gets a new version."""
        if self.working is not self.master:
            self.working.copy_(self.master)
        # Autograd does not know that the parameters are views.
        torch.autograd.graph.increment_version(self.parameters)

    def _point_at(self, values: Tensor) -> None:
        for parameter, part in self._parts(values):
            parameter.data = part

    def _parts(self, flat: Tensor) -> Iterator[tuple[nn.Parameter, Tensor]]:
        """Each parameter with its piece of a flat buffer, in its shape."""
        offset = 0
        for parameter in self.parameters:
            end = offset + parameter.numel()
            yield parameter, flat[offset:end].view(parameter.shape)
            offset = end
