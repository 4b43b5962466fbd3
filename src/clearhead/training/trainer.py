"""One training step: batches, loss, gradient, update; and its state saved and restored."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from clearhead.blocks import Decoder, Encoder
from clearhead.errors import UserError
from clearhead.fast.accelerate import accelerate
from clearhead.fast.flat_muon import FlatMuon
from clearhead.fast.flat_optimizer import FlatAdam
from clearhead.training.checkpoint import FILE, incomplete, load_checkpoint, save_checkpoint
from clearhead.training.device_settings import DeviceSettings
from clearhead.training.metrics import Progress, StepReport
from clearhead.training.objective import Losses
from clearhead.training.recipe import Recipe, make_schedule
from clearhead.training.task import Batches, Objective

log = logging.getLogger("clearhead.train")

OPTIMIZERS: dict[str, type[FlatAdam]] = {"adam": FlatAdam, "muon": FlatMuon}
MOST_SKIPPED = 10  # steps in a row without a finite gradient


class Trainer:
    """A model, its optimizer and its position in the data; `step` advances all three.

    The `objective` computes the losses from the model and a batch.
    """

    def __init__(
        self,
        recipe: Recipe,
        model: nn.Module,
        batches: Batches,
        objective: Objective,
        settings: DeviceSettings,
    ) -> None:
        self.recipe, self.settings = recipe, settings
        self.batches, self.objective = batches, objective
        self.model = accelerate(model, settings.engine.operations).to(settings.device).train()
        o, config = recipe.optimizer, cast(Any, model.config)
        kind = OPTIMIZERS[o.name]
        self.optimizer = kind(self.model, o.betas, o.eps, o.weight_decay, settings.dtype)
        self.frozen = FrozenParameters(self.model, settings.dtype)
        self.schedule = make_schedule(
            o.schedule, o.peak_lr, o.warmup, recipe.run.steps, config.d_model
        )
        self.progress = Progress()
        stacks = [part for part in self.model.modules() if isinstance(part, Encoder | Decoder)]
        if recipe.run.gradient_checkpointing:
            checkpoint_layers(*stacks)
        if recipe.run.compile:  # the layers; embedding and loss gain nothing from it
            for stack in stacks:
                stack.compile(dynamic=True)

    def step(self) -> StepReport:
        """One update of the weights.

        Raises:
            UserError: ten updates in a row had no finite gradient.
        """
        began = time.perf_counter()
        smoothed = nll = 0.0
        tokens, epoch = 0, self.batches.epoch
        for _ in range(self.recipe.run.accumulate):
            losses = self._add_gradient()
            smoothed, nll = smoothed + float(losses.smoothed.detach()), nll + float(losses.nll)
            tokens += losses.tokens
        lr = self.schedule(self.progress.step + 1)
        finite = self.optimizer.step(lr, 1 / tokens, self.recipe.optimizer.clip_norm)
        report = StepReport(
            step=self.progress.step + 1,
            epoch=epoch,
            loss=smoothed / tokens,
            nll=nll / tokens,
            lr=lr,
            grad_norm=self.optimizer.grad_norm,
            tokens=tokens,
            seconds=time.perf_counter() - began,
            finite=finite,
        )
        self._advance(report)
        return report

    def _add_gradient(self) -> Losses:
        losses = self.objective(self.model, next(self.batches))
        losses.smoothed.backward()
        self.optimizer.accumulate()
        return losses

    def _advance(self, report: StepReport) -> None:
        p = self.progress
        p.step, p.tokens = report.step, p.tokens + report.tokens
        p.seconds += report.seconds
        p.meter.add(report)
        if report.finite:
            p.skipped_in_a_row = 0
            return
        p.skipped, p.skipped_in_a_row = p.skipped + 1, p.skipped_in_a_row + 1
        log.warning(
            "step %d skipped, its gradient is not finite (%d skipped so far)", p.step, p.skipped
        )
        if p.skipped_in_a_row >= MOST_SKIPPED:
            raise UserError(
                f"{MOST_SKIPPED} steps in a row had no finite gradient (last at step {p.step}); "
                "resume with a lower --set optimizer.peak_lr=…, a longer optimizer.warmup, "
                "or --set run.precision=fp32"
            )

    @contextmanager
    def master_weights(self) -> Iterator[None]:
        """Within, the model holds its float32 master weights, which are what is saved."""
        with self.optimizer.masters(), self.frozen.master_weights():
            yield

    def save(self, directory: Path) -> None:
        """Write the checkpoint that `restore` reads."""
        self.progress.data = self.batches.state()
        save_checkpoint(directory, self.progress, self.optimizer.state())

    def restore(self, directory: Path) -> None:
        """Continue exactly where the checkpoint was written.

        Raises:
            UserError: it belongs to another model or other data.
        """
        progress, tensors = load_checkpoint(directory)
        try:
            self.batches.restore(progress.data)
            self.optimizer.restore(tensors)
        except KeyError as error:
            raise incomplete(directory / FILE, f"{error} is missing") from error
        self.progress = progress


class FrozenParameters:
    """The parameters without `requires_grad`: computed in `dtype`, saved as they were loaded."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self.parameters = [p for p in model.parameters() if not p.requires_grad]
        self.exact = [p.data for p in self.parameters]
        self.rounded = [values.to(dtype) for values in self.exact]
        self._assign(self.rounded)

    @contextmanager
    def master_weights(self) -> Iterator[None]:
        """Within, the model holds the values that were loaded."""
        self._assign(self.exact)
        try:
            yield
        finally:
            self._assign(self.rounded)

    def _assign(self, values: list[torch.Tensor]) -> None:
        for parameter, value in zip(self.parameters, values, strict=True):
            parameter.data = value


def checkpoint_layers(*stacks: nn.Module) -> None:
    """Gradient checkpointing: each layer keeps only its input (Chen et al. 2016).

    The backward pass computes each layer's forward pass once more, with the same random
    numbers, so dropout is the same: a third more computation, and the activations of one layer
    in memory instead of all. Names, parameters and outputs stay the same.
    """
    for stack in stacks:
        for layer in stack.get_submodule("layers").children():
            layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)
