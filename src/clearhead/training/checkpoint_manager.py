"""What a run saves: the newest checkpoint, the best model, snapshots and their average."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import nn

from clearhead.data.corpus import named_corpora
from clearhead.errors import counted
from clearhead.files import CHECKSUMS, atomic_write, record_checksums
from clearhead.models.weights import load_tensors
from clearhead.training.checkpoint import average_snapshots, list_snapshots, save_snapshot
from clearhead.training.metrics import Progress, perplexity
from clearhead.training.recipe import Data, Recipe
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Task, TaskDescription, ValidationResult
from clearhead.training.trainer import Trainer

MODEL_CARD = """\
# {title}

{about}

- Training data: {train}{attribution}
- {steps:,} steps, {tokens:,} {unit}, {duration}
- {score}
{base}"""


class CheckpointManager:
    """Writes a run's model directories, with the float32 master weights."""

    def __init__(self, recipe: Recipe, run: RunDirectory, trainer: Trainer, task: Task) -> None:
        self.recipe, self.run = recipe, run
        self.trainer, self.task = trainer, task
        card = recipe.base_directory and recipe.base_directory / "README.md"
        if card and card.is_file() and not run.base_card.exists():
            atomic_write(run.base_card, card.read_bytes())  # the model may be moved or removed

    @property
    def progress(self) -> Progress:
        """The run's progress."""
        return self.trainer.progress

    def save_last(self) -> None:
        """Write the newest weights, then the checkpoint, from which the run is resumed.

        Raises:
            UserError: the run directory was removed, or cannot be written.
        """
        self.run.check_present()
        with self.trainer.master_weights():
            self._write(self.trainer.model, self.run.last)
        self.trainer.save(self.run.last)

    def save_progress(self) -> None:
        """Write the checkpoint alone, if the weights have not changed since `save_last`.

        Raises:
            UserError: the run directory was removed, or cannot be written.
        """
        self.run.check_present()
        self.trainer.save(self.run.last)

    def save_validated(self, result: ValidationResult) -> bool:
        """Write a snapshot and, if the result is the best so far, `best`; returns whether it is."""
        self.run.check_present()
        step, keep = self.progress.step, self.recipe.run.average
        better = self._better(result, ties=False)
        self._note(result, better)
        self.progress.evaluations_since_best = (
            0 if better else self.progress.evaluations_since_best + 1
        )
        with self.trainer.master_weights():
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
        model = self.task.new_model()
        load_tensors(model, average_snapshots(snapshots), "the average")
        return model.eval().to(self.trainer.settings.device), len(snapshots)

    def save_average(self, model: nn.Module, result: ValidationResult) -> bool:
        """Write the average as `best` unless a single model was better."""
        better = self._better(result, ties=True)
        if better:
            self._note(result, better)
            self._write(model, self.run.best)
        return better

    def restate_best(self, records: Iterable[dict[str, Any]]) -> None:
        """Express the best result in the recipe's metric, which a resumption may have changed.

        `records` are those of metrics.jsonl. Patience begins anew with another metric.
        """
        p, metric = self.progress, self.recipe.run.metric
        values = [
            -p.best_loss if metric == "loss" else record[metric]
            for record in records
            if (record["step"], record.get("loss")) == (p.best_step, p.best_loss)
            and record.get(metric) is not None
        ]
        if values and p.best not in values:
            p.best, p.evaluations_since_best = values[0], 0

    def _better(self, result: ValidationResult, ties: bool) -> bool:
        """By the metric, then by the loss: at first BLEU is often 0.00. `ties` accepts equals."""
        if self.progress.best is None:
            return True
        found = (self._value(result), -result.loss)
        best = (self.progress.best, -self.progress.best_loss)
        return found > best or (ties and found == best)

    def _value(self, result: ValidationResult) -> float:
        """Higher is better."""
        metric = self.recipe.run.metric
        return -result.loss if metric == "loss" else result.scores[metric]

    def _note(self, result: ValidationResult, better: bool) -> None:
        p = self.progress
        p.dev = {"step": p.step, "loss": result.loss, "sentences": result.size, **result.scores}
        if better:
            p.best, p.best_loss, p.best_step = self._value(result), result.loss, p.step

    def _write(self, model: nn.Module, directory: Path) -> None:
        self.run.check_present()
        self.task.save(model, directory)
        base = started_from(self.recipe.base_model, self.run.base_card)
        card = model_card(self.recipe.data, self.task.description, self.progress, base)
        atomic_write(directory / "README.md", card)
        # Weights carry their own checksum.
        names = (path.name for path in directory.iterdir() if path.suffix in (".json", ".txt"))
        record_checksums(directory, (name for name in names if name != CHECKSUMS))


def started_from(path: str, card: Path) -> str:
    """The lines about the model that training started from, with its README.md quoted.

    That has the attribution and the licence of its training data, in whatever form.
    """
    name = "/".join(Path(path).parts[-2:])  # on the hub owner/name, of a run RUN/best
    if not card.exists():
        return f"- Started from the model {name}\n" if name else ""
    lines = card.read_text(encoding="utf-8", errors="replace").splitlines()
    quoted = "".join(f"> {line}".rstrip() + "\n" for line in lines if line != "---")
    return f"- Started from the model {name}, whose README.md says:\n\n{quoted}"


def model_card(data: Data, description: TaskDescription, progress: Progress, base: str = "") -> str:
    """README.md of a model directory: training data, attribution, length, scores, base model."""
    return MODEL_CARD.format(
        title=description.title,
        about=description.about,
        train=_without_folder(data.train),
        attribution=f" ({data.attribution})" if data.attribution else "",
        steps=progress.step,
        tokens=progress.tokens,
        unit=description.unit,
        duration=_duration(progress.seconds),
        score=_score(data, description, progress),
        base=base,
    )


def _duration(seconds: float) -> str:
    return "less than a minute" if seconds < 60 else counted(round(seconds / 60), "minute")


def _score(data: Data, description: TaskDescription, progress: Progress) -> str:
    if not progress.dev:
        return "Not validated yet"
    metric, dev = description.metric, _without_folder(data.dev) or "a part of it, held out"
    loss = progress.dev["loss"]
    fit = f"squared error {loss:.3f}" if metric.numbers else f"perplexity {perplexity(loss):.3f}"
    return (
        f"Validation on {dev} ({progress.dev['sentences']:.0f} {description.dev_unit}, "
        f"at step {progress.dev['step']:,.0f}): "
        f"{metric.label} {progress.dev[metric.key]:.{metric.digits}f}, {fit}"
    )


def _without_folder(spec: str) -> str:
    """The names of the files, of several corpora as they were given: joined with + or a comma."""
    if len(corpora := named_corpora(spec)) > 1:
        return " + ".join(map(_without_folder, corpora))
    kind = re.match(r"\w{2,}:", spec)  # hf: and grammar:, but not C: of Windows
    return spec if kind else ", ".join(Path(part).name for part in spec.split(","))
