"""A whole run, from a recipe to a model directory: prepare, train, validate, save, average."""

import logging
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Self

import torch

from clearhead.errors import counted
from clearhead.files import atomic_write
from clearhead.training.checkpoint import drop_later_snapshots
from clearhead.training.checkpoint_manager import CheckpointManager
from clearhead.training.device_settings import choose_device_settings
from clearhead.training.metrics import MetricsFile
from clearhead.training.recipe import Recipe
from clearhead.training.recipe_file import dump_recipe
from clearhead.training.reporter import Reporter, summary_writer
from clearhead.training.run_directory import RunDirectory, check_same_run
from clearhead.training.tasks import TASKS
from clearhead.training.trainer import Trainer

log = logging.getLogger("clearhead.train")

# Windows has no SIGHUP. Elsewhere a terminal that is closed sends it, once or twice.
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
STOP_SIGNALS = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
STDERR = 2


class Session:
    """A run that is started, or resumed at its last checkpoint."""

    def __init__(self, recipe: Recipe, run: RunDirectory) -> None:
        self.recipe, self.run = recipe, run
        if recipe.run.threads:
            torch.set_num_threads(recipe.run.threads)
        r = recipe.run
        self.settings = choose_device_settings(r.device, r.precision, r.engine)
        check_same_run(recipe, run.origin, run.has_copies)
        torch.manual_seed(r.seed)
        task = self.task = TASKS[recipe.task](recipe, run, self.settings)
        self.engine_line = self.settings.engine.describe(task.model, task.predicts_tokens)
        self.trainer = Trainer(recipe, task.model, task.batches, task.losses, self.settings)
        if run.resumable:
            self.trainer.restore(run.last)
        self.progress = self.trainer.progress
        # Every check has passed: only now is the directory changed.
        run.remove_unfinished()
        atomic_write(run.config, dump_recipe(recipe))
        drop_later_snapshots(run.snapshots, self.progress.step)
        self.checkpoints = CheckpointManager(recipe, run, self.trainer, task)
        metrics = MetricsFile(run.root, self.progress)
        self.checkpoints.restate_best(metrics.records)
        self.reporter = Reporter(recipe, run, metrics, self.progress, task.description.metric)

    def train(self) -> None:
        """Train to the last step (or until patience ends), then average.

        Raises:
            KeyboardInterrupt: Ctrl-C, SIGTERM or SIGHUP (the number of the signal is its
                argument), after the step was finished and a checkpoint written.
        """
        try:
            self._train()
        finally:
            self.run.release()

    def _train(self) -> None:
        self._introduce()
        if self._finished() and self.progress.averaged_at == self.progress.step:
            more = "run.patience=0" if self._stalled() else f"run.steps={2 * self.progress.step}"
            log.info("this run is finished; to train on, repeat the command with --set %s", more)
            return
        with self.reporter, StopRequest() as stop:
            if self._validation_is_due():  # the run was killed before its result was saved
                self._validate()
            while not self._finished():
                self._one_step()
                if stop.requested and not self._finished():
                    self.checkpoints.save_last()
                    raise KeyboardInterrupt(stop.requested)
            self.checkpoints.save_last()
            self._finish()

    def _one_step(self) -> None:
        self.reporter.step(self.trainer.step())
        if self._validation_is_due():
            self.checkpoints.save_last()  # first: a kill during the validation then loses no step
            self._validate()
        elif self.progress.step % self.recipe.run.save_every == 0:
            self.checkpoints.save_last()

    def _validation_is_due(self) -> bool:
        run, step = self.recipe.run, self.progress.step
        due = step == run.steps or (step > 0 and step % run.eval_every == 0)
        return due and self.progress.evaluated_at < step

    def _validate(self) -> None:
        result = self.task.validate(self.trainer.model, self.recipe.run.samples)
        better = self.checkpoints.save_validated(result)
        self.progress.evaluated_at = self.progress.step
        self.reporter.validation(result, better)
        self.checkpoints.save_progress()

    def _finished(self) -> bool:
        return self._stalled() or self.progress.step >= self.recipe.run.steps

    def _stalled(self) -> bool:
        """Whether patience ended before the last step."""
        run, progress = self.recipe.run, self.progress
        out_of_patience = 0 < run.patience <= progress.evaluations_since_best
        return out_of_patience and progress.step < run.steps

    def _finish(self) -> None:
        """Average, and save that this was done, so that it is done once."""
        if self._stalled():
            log.info(
                "stopped early at step %d of %d: no improvement in %d validations (run.patience)",
                self.progress.step,
                self.recipe.run.steps,
                self.recipe.run.patience,
            )
        if average := self.checkpoints.averaged():
            model, count = average
            result = self.task.validate(model, self.recipe.run.samples)
            self.reporter.average(result, count, self.checkpoints.save_average(model, result))
        self.progress.averaged_at = self.progress.step
        self.checkpoints.save_progress()
        self.reporter.done()

    def _introduce(self) -> None:
        threads = counted(torch.get_num_threads(), "thread")
        allocator = ", tcmalloc" if "tcmalloc" in os.environ.get("LD_PRELOAD", "") else ""
        log.info("%s, %s%s", self.settings.reason, threads, allocator)
        data_type = str(self.settings.dtype).removeprefix("torch.")
        log.info("%s, %s weights", self.engine_line, data_type)
        trained = self.trainer.optimizer.master.numel()
        frozen = sum(parameter.numel() for parameter in self.trainer.frozen.parameters)
        more = f", {frozen:,} frozen" if frozen else ""
        log.info("%s, %s parameters%s", self.task.summary(), f"{trained:,}", more)
        _warn_of_settings(self.recipe)
        glibc = sys.platform == "linux" and self.settings.device.type == "cpu" and not allocator
        if glibc and self.recipe.run.steps >= 1000:
            log.info(
                "tcmalloc is not loaded; a long run is faster and needs less memory with it: "
                "sudo apt install libtcmalloc-minimal4"
            )
        if self.progress.step:
            log.info("resuming after step %d of %d", self.progress.step, self.recipe.run.steps)


def _warn_of_settings(recipe: Recipe) -> None:
    """Warn of settings that are allowed and rarely meant."""
    data, steps, warmup = recipe.data, recipe.run.steps, recipe.optimizer.warmup
    if data.dev and os.path.realpath(data.dev) == os.path.realpath(data.train):
        log.warning(
            "data.dev is data.train: the validation metrics show what the model has memorized, "
            "not how it does on new texts; name other texts as data.dev"
        )
    if steps < warmup:
        log.warning(
            "run.steps=%d is less than optimizer.warmup=%d: the learning rate never reaches its "
            "peak; give more steps or a shorter warm-up",
            steps,
            warmup,
        )


def start(recipe: Recipe, root: Path) -> Session:
    """A new run in an empty directory; an invalid recipe is refused before it is created."""
    choose_device_settings(recipe.run.device, recipe.run.precision)
    TASKS[recipe.task].check(recipe)
    if recipe.run.tensorboard:
        summary_writer()
    return Session(recipe, RunDirectory.create(root, recipe))


def resume(root: Path, recipe: Recipe | None = None) -> Session:
    """A run that continues at its last checkpoint; `recipe` replaces the saved one."""
    run, saved = RunDirectory.open(root)
    return Session(recipe or saved, run)


class StopRequest:
    """Within, the first of `STOP_SIGNALS` sets `requested` to its number; each step checks it.

    So a step is never interrupted, except by a second Ctrl-C or SIGTERM, after which nothing is
    saved. Under nohup SIGHUP stays ignored.
    Python allows signal handlers in the main thread only; elsewhere nothing changes.
    """

    def __init__(self) -> None:
        self.requested = 0
        self._previous: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                # A background job of a script ignores SIGINT too, but may still be stopped with it.
                if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested and number in (signal.SIGINT, signal.SIGTERM):
            raise KeyboardInterrupt(number)
        self.requested = number
        # Not through the log, which may be in the middle of a line.
        with suppress(OSError):  # Ctrl-C also ended `| tee`, or the terminal is closed
            os.write(STDERR, b"\nstopping after this step; press Ctrl-C again to stop at once\n")
