"""The training step that everybody writes around a model that gives logits.

Every peer gets the best of what its users would reach for: fused Adam,
autocast to bfloat16, gradients set to None. Nothing else is done to it.
"""

import torch
import torch.nn.functional as F
from torch import nn

from clearhead.blocks import shift_right
from clearhead.compare.race import Contestant
from clearhead.compare.task import LEARNING_RATE, SMOOTHING, Task


class OrdinaryStep:
    """One update of `model`, which maps (source ids, decoder input) to logits."""

    def __init__(self, model: nn.Module, task: Task, autocast: bool) -> None:
        self.model = model.to(task.device).train()
        self.config, self.autocast = task.config, autocast
        self.source, self.labels = task.batch()
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), eps=1e-9, fused=True
        )

    def __call__(self) -> float:
        """Returns the target tokens that were learnt from."""
        device = self.labels.device.type
        with torch.autocast(device, dtype=torch.bfloat16, enabled=self.autocast):
            logits = self.model(self.source, shift_right(self.labels, self.config.bos_id))
            loss = F.cross_entropy(
                logits.flatten(0, 1),  # (batch, tgt_len, vocab) -> (batch · tgt_len, vocab)
                self.labels.flatten(),
                ignore_index=self.config.pad_id,
                label_smoothing=SMOOTHING,
            )
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return self.labels.numel()


def precisions(task: Task) -> list[str]:
    """The number formats that a peer is raced in on this device."""
    return ["float32", "bfloat16 autocast"] if task.has_bf16 else ["float32"]


def ordinary(name: str, model: nn.Module, task: Task, precision: str) -> Contestant:
    """A peer in one number format."""
    step = OrdinaryStep(model, task, autocast=precision != "float32")
    return Contestant(f"{name}, {precision}", step)
