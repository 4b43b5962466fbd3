"""One step: batches, their loss, an update; and all of it saved and restored."""

import logging
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clearhead.data.batching import TokenBatches
from clearhead.errors import UserError
from clearhead.fast.accelerate import accelerate
from clearhead.fast.flat_adam import FlatAdam
from clearhead.fast.flat_muon import FlatMuon
from clearhead.fast.recompute import recompute_insides
from clearhead.models.transformer import Transformer
from clearhead.training.checkpoint import FILE, Progress, load_checkpoint, save_checkpoint
from clearhead.training.measures import StepReport
from clearhead.training.objective import Losses, make_objective
from clearhead.training.precision import Ground
from clearhead.training.recipe import Recipe
from clearhead.training.schedule import make_schedule

log = logging.getLogger("clearhead.train")

OPTIMIZERS: dict[str, type[FlatAdam | FlatMuon]] = {"adam": FlatAdam, "muon": FlatMuon}
GIVE_UP = 10  # steps in a row without a finite gradient


class Trainer:
    """A model, its optimiser and its place in the data; `step` moves all three on."""

    def __init__(
        self, recipe: Recipe, model: Transformer, batches: TokenBatches, ground: Ground
    ) -> None:
        self.recipe, self.batches, self.ground = recipe, batches, ground
        ground.prepare()
        self.model = accelerate(model, ground.twins).to(ground.device).train()
        o = recipe.optimizer
        kind = OPTIMIZERS[o.name]
        self.optimizer = kind(self.model, o.betas, o.eps, o.weight_decay, ground.dtype)
        self.schedule = make_schedule(
            o.schedule, o.peak_lr, o.warmup, recipe.run.steps, model.config.d_model
        )
        self.objective = make_objective(o.label_smoothing, o.consistency)
        self.progress = Progress()
        if recipe.run.recompute:
            recompute_insides(self.model.encoder, self.model.decoder)
        if recipe.run.compile:  # the layers; embedding and loss gain nothing from it
            self.model.encoder.compile(dynamic=True)
            self.model.decoder.compile(dynamic=True)

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
        batch = next(self.batches)
        source, target = (self._in_steps(side) for side in (batch.source, batch.target))
        losses = self.objective(self.model, source, target)
        losses.smoothed.backward()
        self.optimizer.accumulate()
        return losses

    def _in_steps(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Padded to the ground's next length, if the model has so many positions."""
        length, step = ids.shape[1], self.ground.length_step
        wanted = min(-(-length // step) * step, self.model.config.src_seq_len)
        more = max(0, wanted - length)
        if not more:
            return ids
        return np.pad(ids, ((0, 0), (0, more)), constant_values=self.model.config.pad_id)

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
