"""What a run keeps: the newest state, the best model, snapshots and their average."""

from pathlib import Path

from torch import nn

from clearhead.models.weights import load_tensors
from clearhead.training.checkpoint import Progress
from clearhead.training.model_card import write_card
from clearhead.training.recipe import Recipe
from clearhead.training.run_directory import RunDirectory
from clearhead.training.snapshots import average_snapshots, list_snapshots, save_snapshot
from clearhead.training.task import Task, Verdict
from clearhead.training.trainer import Trainer


class Keeper:
    """Writes a run's model directories. What is saved are the float32 masters."""

    def __init__(self, recipe: Recipe, run: RunDirectory, trainer: Trainer, task: Task) -> None:
        self.recipe, self.run = recipe, run
        self.trainer, self.task = trainer, task

    @property
    def progress(self) -> Progress:
        """The run's numbers."""
        return self.trainer.progress

    def keep_last(self) -> None:
        """The newest weights, then the checkpoint: it alone decides where a run goes on."""
        with self.trainer.masters():
            self._write(self.trainer.model, self.run.last)
        self.trainer.save(self.run.last)

    def keep_judged(self, verdict: Verdict) -> bool:
        """A snapshot; and if the dev set never liked a model more, it becomes `best`."""
        step, keep = self.progress.step, self.recipe.run.average
        better = self._better(verdict, ties=False)
        self._note(verdict, better)
        self.progress.evaluations_since_best = (
            0 if better else self.progress.evaluations_since_best + 1
        )
        with self.trainer.masters():
            if keep:
                save_snapshot(self.trainer.model, self.run.snapshots, step, keep)
            if better:
                self._write(self.trainer.model, self.run.best)
        return better

    def averaged(self) -> tuple[nn.Module, int] | None:
        """The mean of the snapshots and their number, if there are at least two."""
        snapshots = list_snapshots(self.run.snapshots)
        if not self.recipe.run.average or len(snapshots) < 2:
            return None
        model = self.task.blank()
        load_tensors(model, average_snapshots(snapshots), "the average")
        return model.eval().to(self.trainer.ground.device), len(snapshots)

    def keep_average(self, model: nn.Module, verdict: Verdict) -> bool:
        """The average becomes `best` unless the dev set liked one model more."""
        better = self._better(verdict, ties=True)
        if better:
            self._note(verdict, better)
            self._write(model, self.run.best)
        return better

    def _better(self, verdict: Verdict, ties: bool) -> bool:
        value, best = self._value(verdict), self.progress.best
        return best is None or value > best or (ties and value == best)

    def _value(self, verdict: Verdict) -> float:
        """Higher is better."""
        metric = self.recipe.run.metric
        return -verdict.loss if metric == "loss" else verdict.scores[metric]

    def _note(self, verdict: Verdict, better: bool) -> None:
        p = self.progress
        p.dev = {
            "step": p.step,
            "loss": verdict.loss,
            "sentences": verdict.size,
            **verdict.scores,
        }
        if better:
            p.best, p.best_step = self._value(verdict), p.step

    def _write(self, model: nn.Module, directory: Path) -> None:
        self.task.save(model, directory)
        write_card(directory, self.recipe.data, self.task.words, self.progress)
