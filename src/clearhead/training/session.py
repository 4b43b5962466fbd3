"""A whole run, from a recipe to a model directory: prepare, loop, judge, save, average."""

import logging
from pathlib import Path

import torch

from clearhead.data.batching import TokenBatches
from clearhead.models.transformer import Transformer
from clearhead.models.weights import load_tensors
from clearhead.training.corpus import TrainingPairs, prepare_corpus, prepare_tokenizer
from clearhead.training.logbook import Logbook
from clearhead.training.model_card import write_card
from clearhead.training.precision import choose_ground
from clearhead.training.recipe import Recipe
from clearhead.training.reporter import Reporter
from clearhead.training.run_directory import RunDirectory
from clearhead.training.snapshots import average_snapshots, list_snapshots, save_snapshot
from clearhead.training.trainer import Trainer, batch_plan, make_model
from clearhead.training.validation import DevSet, Verdict

log = logging.getLogger("clearhead.train")


class Session:
    """One start of a run: fresh, or taken up at its last checkpoint."""

    def __init__(self, recipe: Recipe, run: RunDirectory) -> None:
        self.recipe, self.run = recipe, run
        if recipe.run.threads:
            torch.set_num_threads(recipe.run.threads)
        torch.manual_seed(recipe.run.seed)
        ground = choose_ground(recipe.run.device, recipe.run.precision)
        self.tokenizer = prepare_tokenizer(recipe, run.root)
        corpus = prepare_corpus(recipe, self.tokenizer, run.data)
        self.dev = DevSet(
            TrainingPairs(recipe.data.dev, recipe.data), self.tokenizer, recipe.run.dev_sentences
        )
        batches = TokenBatches(corpus, batch_plan(recipe, self.tokenizer))
        self.trainer = Trainer(recipe, make_model(recipe, self.tokenizer), batches, ground)
        if run.resumable:
            self.trainer.restore(run.last)
        self.progress = self.trainer.progress
        self.logbook = Logbook(run.root, self.progress.step)
        self.reporter = Reporter(recipe, self.logbook, self.progress)
        log.info("%s, %d pairs, %s", ground.why, len(corpus), self._size())

    def train(self) -> None:
        """Run to the last step (or until patience ends), then write the final model."""
        with self.reporter:
            try:
                while not self._finished():
                    self._one_step()
            except KeyboardInterrupt:
                self._save()
                raise
            self._save()
        self._finish()

    def _one_step(self) -> None:
        report = self.trainer.step()
        self.reporter.step(report)
        run = self.recipe.run
        last = self.progress.step == run.steps
        if last or self.progress.step % run.eval_every == 0:
            self._judge()
        if self.progress.step % run.save_every == 0 and not last:
            self._save()

    def _judge(self) -> None:
        verdict = self.dev.judge(self.trainer.model, self.recipe.run.samples)
        step = self.progress.step
        if self.recipe.run.average:
            save_snapshot(self.trainer.model, self.run.snapshots, step, self.recipe.run.average)
        value = self._value(verdict)
        better = self.progress.best is None or value > self.progress.best
        if better:
            self.progress.best, self.progress.best_step = value, step
            self._write_model(self.trainer.model, self.run.best, verdict)
        self.progress.evaluations_since_best = (
            0 if better else self.progress.evaluations_since_best + 1
        )
        self.reporter.verdict(verdict, better)

    def _value(self, verdict: Verdict) -> float:
        """Higher is better."""
        return verdict.bleu if self.recipe.run.metric == "bleu" else -verdict.loss

    def _finished(self) -> bool:
        patience = self.recipe.run.patience
        tired = bool(patience) and self.progress.evaluations_since_best >= patience
        return tired or self.progress.step >= self.recipe.run.steps

    def _save(self) -> None:
        self.trainer.save(self.run.last)
        self.tokenizer.save(self.run.last)
        self.trainer.model.save_pretrained(self.run.last, torch.float32)

    def _finish(self) -> None:
        """Average the last snapshots; the average becomes `best` if the dev set agrees."""
        snapshots = list_snapshots(self.run.snapshots)
        if len(snapshots) < 2:
            return
        model = Transformer.from_config(self.trainer.model.config)
        load_tensors(model, average_snapshots(snapshots), "the average")
        verdict = self.dev.judge(model.to(self.trainer.ground.device), self.recipe.run.samples)
        better = self._value(verdict) >= (self.progress.best or float("-inf"))
        self.reporter.average(verdict, len(snapshots), better)
        if better:
            self._write_model(model, self.run.best, verdict)

    def _write_model(self, model: Transformer, directory: Path, verdict: Verdict) -> None:
        model.save_pretrained(directory, torch.float32)
        self.tokenizer.save(directory)
        write_card(directory, self.recipe, self.progress, verdict)

    def _size(self) -> str:
        count = sum(p.numel() for p in self.trainer.model.parameters())
        return f"{count:,} parameters, vocabulary {self.tokenizer.vocab_size:,}"


def start(recipe: Recipe, root: Path) -> Session:
    """A new run in an empty directory."""
    return Session(recipe, RunDirectory.create(root, recipe))


def resume(root: Path, recipe: Recipe | None = None) -> Session:
    """Take a run up where its last checkpoint stands; `recipe` replaces the saved one."""
    run, saved = RunDirectory.open(root)
    return Session(recipe or saved, run)


