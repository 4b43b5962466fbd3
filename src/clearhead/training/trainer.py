"""One step: batches, their loss, an update; and all of it saved and restored."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from torch import nn

from clearhead.blocks import Decoder, Encoder
from clearhead.errors import UserError
from clearhead.fast.accelerate import accelerate
from clearhead.fast.flat_adam import FlatAdam
from clearhead.fast.flat_muon import FlatMuon
from clearhead.fast.memory import give_back_gaps
from clearhead.fast.recompute import recompute_insides
from clearhead.training.checkpoint import FILE, Progress, load_checkpoint, save_checkpoint
from clearhead.training.frozen import Frozen
from clearhead.training.measures import StepReport
from clearhead.training.objective import Losses
from clearhead.training.precision import Ground
from clearhead.training.recipe import Recipe
from clearhead.training.schedule import make_schedule
from clearhead.training.task import Batches, Objective

log = logging.getLogger("clearhead.train")

OPTIMIZERS: dict[str, type[FlatAdam | FlatMuon]] = {"adam": FlatAdam, "muon": FlatMuon}
GIVE_UP = 10  # steps in a row without a finite gradient


class Trainer:
    """A model, its optimiser and its place in the data; `step` moves all three on.

    What the model learns is the business of the `objective`, which gets the model and a batch.
    """

    def __init__(
        self,
        recipe: Recipe,
        model: nn.Module,
        batches: Batches,
        objective: Objective,
        ground: Ground,
    ) -> None:
        self.recipe, self.ground = recipe, ground
        self.batches, self.objective = batches, objective
        ground.prepare()
        self.model = accelerate(model, ground.twins).to(ground.device).train()
        o, config = recipe.optimizer, cast(Any, model.config)
        kind = OPTIMIZERS[o.name]
        self.optimizer = kind(self.model, o.betas, o.eps, o.weight_decay, ground.dtype)
        self.frozen = Frozen(self.model, ground.dtype)
        self.schedule = make_schedule(
            o.schedule, o.peak_lr, o.warmup, recipe.run.steps, config.d_model
        )
        self.progress = Progress()
        stacks = [part for part in self.model.modules() if isinstance(part, Encoder | Decoder)]
        if recipe.run.recompute:
            recompute_insides(*stacks)
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
        give_back_gaps()
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
        if p.skipped_in_a_row >= GIVE_UP:
            raise UserError(
                f"{GIVE_UP} steps in a row had no finite gradient (last at step {p.step}); "
                "resume with a lower --set optimizer.peak_lr=…, a longer optimizer.warmup, "
                "or --set run.precision=fp32"
            )

    @contextmanager
    def masters(self) -> Iterator[None]:
        """Within, the model holds every weight in float32: what is saved has lost nothing."""
        with self.optimizer.masters(), self.frozen.masters():
            yield

    def save(self, directory: Path) -> None:
        """Write the checkpoint that `restore` reads."""
        self.progress.data = self.batches.state()
        save_checkpoint(directory, self.progress, self.optimizer.state())

    def restore(self, directory: Path) -> None:
        """Go on exactly where the checkpoint was written.

        Raises:
            UserError: it is of another model or other data.
        """
        progress, tensors = load_checkpoint(directory)
        try:
            self.batches.restore(progress.data)
            self.optimizer.restore(tensors)
        except KeyError as error:
            raise UserError(
                f"{directory / FILE} is not a whole training checkpoint (it lacks {error}); "
                "put a copy of it in its place, or start a new run in another --run-dir"
            ) from error
        self.progress = progress
