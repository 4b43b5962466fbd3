"""How every entrant learns: the same loss, optimiser and learning rate, batch after batch."""

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from clearhead.compare.rnn.entrants import Model
from clearhead.fast import accelerate
from clearhead.models import Transformer
from clearhead.training.objective import Losses, translation_loss

PEAK, WARMUP, CLIP, SMOOTHING = 2e-3, 100, 1.0, 0.1
Ids = NDArray[np.int64]


class Learner:
    """A model in training; float32 for all, since torch's recurrent layers know little else.

    The learning rate rises over `WARMUP` steps and falls to zero over the last third of the
    time that there is, of which the caller tells how much is gone.
    """

    def __init__(self, model: Model, peak: float = PEAK, warmup: int = WARMUP) -> None:
        self.model, self.peak, self.warmup = model.train(), peak, warmup
        if isinstance(model, Transformer):
            accelerate(model)  # as `clearhead train` does; the same function
        parameters = list(model.parameters())
        self.optimizer = torch.optim.Adam(parameters, lr=0.0, betas=(0.9, 0.98), fused=True)
        self.steps = self.tokens = 0

    def step(self, source: Ids, target: Ids, gone: float) -> float:
        """One update; `gone`, from 0 to 1, is the share of the time. Returns nats a token."""
        self.steps += 1
        rate = self.peak * min(1.0, self.steps / self.warmup, max(0.0, 3 * (1 - gone)))
        self.optimizer.param_groups[0]["lr"] = rate
        losses = loss_of(self.model, source, target, SMOOTHING)
        (losses.smoothed / losses.tokens).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.tokens += losses.tokens
        return float(losses.nll) / losses.tokens


def loss_of(model: Model, source: Ids, target: Ids, smoothing: float) -> Losses:
    """The translator's own loss, which asks of a model only to encode, decode and project."""
    return translation_loss(cast(Transformer, model), source, target, smoothing)
