"""A whole run, from a recipe to a model directory: prepare, step, judge, save, average."""

import logging
from pathlib import Path

import torch

from clearhead.files import atomic_write
from clearhead.training.interrupt import Interrupt
from clearhead.training.keeper import Keeper
from clearhead.training.logbook import Logbook
from clearhead.training.origin import tie
from clearhead.training.precision import choose_ground
from clearhead.training.recipe import Recipe
from clearhead.training.recipe_file import dump_recipe
from clearhead.training.reporter import Reporter
from clearhead.training.run_directory import RunDirectory
from clearhead.training.snapshots import drop_later_snapshots
from clearhead.training.tasks import TASKS
from clearhead.training.trainer import Trainer

log = logging.getLogger("clearhead.train")


class Session:
    """One start of a run: fresh, or taken up at its last checkpoint."""

    def __init__(self, recipe: Recipe, run: RunDirectory) -> None:
        self.recipe, self.run = recipe, run
        if recipe.run.threads:
            torch.set_num_threads(recipe.run.threads)
        ground = choose_ground(recipe.run.device, recipe.run.precision)
        tie(recipe, run.origin)
        torch.manual_seed(recipe.run.seed)
        self.task = TASKS[recipe.task](recipe, run, ground)
        self.trainer = Trainer(recipe, self.task.model, self.task.batches, self.task.losses, ground)
        if run.resumable:
            self.trainer.restore(run.last)
        self.progress = self.trainer.progress
        # Only now, when nothing can be refused any more, is anything in the directory changed.
        run.sweep()
        atomic_write(run.config, dump_recipe(recipe))
        drop_later_snapshots(run.snapshots, self.progress.step)
        self.keeper = Keeper(recipe, run, self.trainer, self.task)
        logbook = Logbook(run.root, self.progress)
        self.reporter = Reporter(recipe, run, logbook, self.progress, self.task.words.score)

    def train(self) -> None:
        """Run to the last step (or until patience ends), then average.

        Raises:
            KeyboardInterrupt: Ctrl-C, after the step and its checkpoint were finished.
        """
        self._introduce()
        if self._finished() and self.progress.averaged_at == self.progress.step:
            log.info(
                "this run is finished, nothing is left to do; --set run.steps=%d would go on",
                2 * self.progress.step,
            )
            return
        with self.reporter, Interrupt() as interrupt:
            while not self._finished():
                self._one_step()
                if interrupt.asked:
                    self.keeper.keep_last()
                    raise KeyboardInterrupt
            self.keeper.keep_last()
            self._finish()

    def _one_step(self) -> None:
        self.reporter.step(self.trainer.step())
        run, step = self.recipe.run, self.progress.step
        last = step == run.steps
        if last or step % run.eval_every == 0:
            self._judge()
        if step % run.save_every == 0 and not last:
            self.keeper.keep_last()

    def _judge(self) -> None:
        verdict = self.task.judge(self.trainer.model, self.recipe.run.samples)
        self.reporter.verdict(verdict, self.keeper.keep_judged(verdict))

    def _finished(self) -> bool:
        patience = self.recipe.run.patience
        tired = bool(patience) and self.progress.evaluations_since_best >= patience
        return tired or self.progress.step >= self.recipe.run.steps

    def _finish(self) -> None:
        """Average; a last checkpoint says that this was done, so that it is done once."""
        if average := self.keeper.averaged():
            model, count = average
            verdict = self.task.judge(model, self.recipe.run.samples)
            self.reporter.average(verdict, count, self.keeper.keep_average(model, verdict))
        self.progress.averaged_at = self.progress.step
        self.trainer.save(self.run.last)
        self.reporter.done()

    def _introduce(self) -> None:
        log.info("%s, %d threads", self.trainer.ground.why, torch.get_num_threads())
        learned = self.trainer.optimizer.master.numel()
        frozen = sum(parameter.numel() for parameter in self.trainer.frozen.parameters)
        more = f", {frozen:,} frozen" if frozen else ""
        log.info("%s, %s parameters%s", self.task.introduction(), f"{learned:,}", more)
        if self.progress.step:
            log.info("going on after step %d of %d", self.progress.step, self.recipe.run.steps)


def start(recipe: Recipe, root: Path) -> Session:
    """A new run in an empty directory; what can be refused is refused before it is touched."""
    choose_ground(recipe.run.device, recipe.run.precision)
    TASKS[recipe.task].check(recipe)
    return Session(recipe, RunDirectory.create(root, recipe))


def resume(root: Path, recipe: Recipe | None = None) -> Session:
    """Take a run up where its last checkpoint stands; `recipe` replaces the saved one."""
    run, saved = RunDirectory.open(root)
    return Session(recipe or saved, run)
