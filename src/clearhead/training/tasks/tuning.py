"""What fine-tuning for texts and for words have in common."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.data.labelled_batches import NOTHING, Example, LabelledBatch, LabelledBatches
from clearhead.pretrained import load
from clearhead.pretrained.new_heads import Answer
from clearhead.text import PretrainedTokenizer
from clearhead.training.confusion import Confusion
from clearhead.training.lengths import in_steps
from clearhead.training.objective import Losses
from clearhead.training.precision import Ground
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Verdict, Words
from clearhead.training.tuning_data import (
    Examples,
    keep_examples,
    kept_examples,
    shortened,
    that_count,
    warn_of_strangers,
)
from clearhead.training.tuning_judge import answers, counted_pairs, wrong_ones
from clearhead.training.tuning_model import arrange, begin_with, save_tuned, scores_of
from clearhead.training.tuning_recipe import TuningRecipe

log = logging.getLogger("clearhead.train")


class Tuning(ABC):
    """A loaded model learns to tell labels apart; a subclass says of what.

    The run directory keeps in base/ the model that the run began with, new head included.
    """

    answer: ClassVar[Answer]
    item: ClassVar[type]  # of the examples

    def __init__(self, recipe: TuningRecipe, run: RunDirectory, ground: Ground) -> None:
        self.recipe, self.ground, self.base = recipe, ground, run.root / "base"
        self.examples = self._prepare(run)
        model, self.tokenizer = load(self.base)
        self.refuse(recipe, self.examples.labels, self.tokenizer)
        self.model = arrange(model, recipe.tune)
        config: Any = model.config
        self.longest = min(recipe.data.max_length or config.seq_len, config.seq_len)
        train = that_count(shortened(self.encode(self.examples.train), self.longest))
        self.dev = shortened(self.encode(self.examples.dev), self.longest)
        warn_of_strangers(train, self.tokenizer)
        self.weights = self._weights(train) if recipe.tune.balanced else None
        r, pad_id = recipe.run, config.pad_id
        self.batches = LabelledBatches(train, r.batch_tokens, r.batch_texts, r.seed, pad_id)

    @classmethod
    def check(cls, recipe: Any) -> None:
        """Refuse files and models that do not do, or do not go together."""
        labels = cls.read(recipe).labels
        model, tokenizer = begin_with(recipe.model, cls.answer, labels)
        cls.refuse(recipe, labels, tokenizer)
        arrange(model, recipe.tune)

    @classmethod
    @abstractmethod
    def refuse(cls, recipe: Any, labels: Sequence[str], tokenizer: PretrainedTokenizer) -> None:
        """Refuse what only this kind of labels can refuse."""

    @classmethod
    @abstractmethod
    def read(cls, recipe: Any) -> Examples[Any]:
        """The recipe's examples."""

    @property
    @abstractmethod
    def words(self) -> Words:
        """How it is spoken of."""

    @abstractmethod
    def encode(self, items: Sequence[Any]) -> list[Example]:
        """Ids and targets."""

    @abstractmethod
    def sample(self, item: Any, example: Example, said: list[str]) -> str:
        """A dev example and the labels that were said of it, for people."""

    def losses(self, model: Any, batch: LabelledBatch) -> Losses:
        """Cross-entropy of every label that counts, smoothed and weighted as the recipe says."""
        step, longest = self.ground.length_step, self.longest
        if batch.targets.ndim == 2:
            batch = batch._replace(targets=in_steps(batch.targets, step, longest, NOTHING))
        if batch.segments is not None:
            batch = batch._replace(segments=in_steps(batch.segments, step, longest, 0))
        batch = batch._replace(ids=in_steps(batch.ids, step, longest, model.config.pad_id))
        scores = scores_of(model, self.answer, batch).flatten(0, -2).float()
        targets = torch.from_numpy(batch.targets).flatten().to(scores.device)
        plain = F.cross_entropy(scores, targets, ignore_index=NOTHING, reduction="sum")
        weights = None if self.weights is None else self.weights.to(scores.device)
        smoothed = F.cross_entropy(
            scores, targets, weights, ignore_index=NOTHING, reduction="sum",
            label_smoothing=self.recipe.optimizer.label_smoothing,
        )  # fmt: skip
        return Losses(smoothed, plain.detach(), max(1, int((targets != NOTHING).sum())))

    def judge(self, model: Any, samples: int) -> Verdict:
        """All scores of the dev set; with samples, a line a label and some wrong answers."""
        said, loss = answers(model, self.answer, self.dev)
        found = Confusion.of(self.examples.labels, *counted_pairs(self.dev, said))
        shown = []
        if samples:
            shown.append("\n".join([*found.table(), found.summary()]))
        for number in wrong_ones(self.dev, said)[:samples]:
            labels = [self.examples.labels[i] for i in said[number].tolist()]
            shown.append(self.sample(self.examples.dev[number], self.dev[number], labels))
        return Verdict(loss, len(self.dev), self.scores(found, said), shown)

    def scores(self, found: Confusion, said: list[Any]) -> dict[str, float]:
        """By their keys in the records, shares of 1."""
        return {
            "accuracy": found.accuracy,
            "macro_f1": found.macro_f1,
            "matthews": found.matthews,
        }

    def save(self, model: nn.Module, directory: Path) -> None:
        """What `from_pretrained`, the pipelines and `transformers` load; adapters beside it."""
        how = self.recipe.tune.adaptation
        save_tuned(model, self.tokenizer, how, directory, self.recipe.model.path)

    def blank(self) -> nn.Module:
        """The model that the run began with, arranged alike."""
        return arrange(load(self.base)[0], self.recipe.tune)

    def about(self, text: str) -> str:
        """For the model's README.md: what it is, which labels it tells apart."""
        labels = self.examples.labels
        origin: Any = self.model.__dict__["origin"]
        return text.format(
            kind=type(self.model).__name__,
            count=len(labels),
            labels=", ".join(labels[:40]) + (", …" if len(labels) > 40 else ""),
            architecture=origin.config["architectures"][0],
        )

    def introduction(self) -> str:
        """How many texts, which labels, what learns."""
        tune, labels = self.recipe.tune, self.examples.labels
        how = {
            "lora": f"LoRA of rank {tune.rank} on {', '.join(tune.projections)}, and the head",
            "whole": "the whole model",
            "frozen": "the head alone",
        }[tune.how]
        epochs = self.recipe.run.steps * self.recipe.run.accumulate / self.batches.batches_an_epoch
        named = ", ".join(labels[:10]) + (", …" if len(labels) > 10 else "")
        return (
            f"{len(self.batches.examples):,} examples, about {epochs:.1f} times each, "
            f"{len(labels)} labels ({named}), {len(self.dev):,} to judge by; "
            f"what learns: {how}"
        )

    def _prepare(self, run: RunDirectory) -> Examples[Any]:
        if run.resumable:
            return kept_examples(run, self.item)
        examples = self.read(self.recipe)
        keep_examples(examples, run)
        model, tokenizer = begin_with(self.recipe.model, self.answer, examples.labels)
        save_tuned(model, tokenizer, None, self.base, "")
        return examples

    def _weights(self, train: list[Example]) -> Tensor:
        """Such that every label has the same weight in all, and an example 1 on average."""
        targets = np.concatenate([np.array(example.targets) for example in train])
        counts = np.bincount(targets[targets != NOTHING], minlength=len(self.examples.labels))
        return torch.tensor(counts.sum() / (len(counts) * np.maximum(1, counts))).float()
