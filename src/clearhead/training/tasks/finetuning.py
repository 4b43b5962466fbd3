"""Fine-tuning of a pre-trained model on labels: what texts and words have in common."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.data.labelled_batches import NOTHING, Example, LabelledBatch, LabelledBatches
from clearhead.errors import UserError, listed
from clearhead.models.adapting import Adaptation, adapt, merge
from clearhead.pretrained import load, save_pretrained
from clearhead.pretrained.adapter import save_adapter
from clearhead.pretrained.loading import Pretrained
from clearhead.pretrained.new_heads import Answer, with_head
from clearhead.text import PretrainedTokenizer
from clearhead.training.classification_metrics import ConfusionMatrix
from clearhead.training.device_settings import DeviceSettings
from clearhead.training.finetuning_recipe import FineTunedModel, FineTuningRecipe, Tune
from clearhead.training.objective import Losses, pad_to_multiple
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Metric, TaskDescription, ValidationResult
from clearhead.training.tasks.labelled_examples import (
    Examples,
    counted_pairs,
    head_scores,
    label_loss,
    load_examples,
    predict,
    read_examples,
    save_examples,
    shortened,
    warn_of_unknown_tokens,
    with_targets,
    wrong_examples,
)

ABOUT = """\
{kind}, fine-tuned with clearhead to predict {count} labels: {labels}.
Use it with `clearhead classify --model DIRECTORY`, or load it with `transformers` as
{architecture}."""
METRICS = {
    "accuracy": Metric("accuracy", "accuracy", "Accuracy", 4, per="label"),
    "macro_f1": Metric(
        "macro_f1", "macro F1", "Macro F1: the mean over the labels", 4, per="label"
    ),
    "matthews": Metric("matthews", "Matthews", "Matthews correlation", 4, per="label"),
    "span_f1": Metric("span_f1", "span F1", "F1 of whole spans", 4, per="label"),
}


class FineTuning(ABC):
    """A pre-trained model learns labels; a subclass says of what.

    The run directory keeps in base/ the model with which the run began, new head included.
    """

    head: ClassVar[Answer]
    item: ClassVar[type]  # of the examples
    title: ClassVar[str]
    dev_unit: ClassVar[str]
    default_metric: ClassVar[str]
    predicts_tokens: ClassVar[bool] = False

    def __init__(
        self, recipe: FineTuningRecipe, run: RunDirectory, settings: DeviceSettings
    ) -> None:
        self.recipe, self.settings, self.base = recipe, settings, run.root / "base"
        self.examples = self._prepare(run)
        self.index = {label: number for number, label in enumerate(self.examples.labels)}
        model, self.tokenizer = load_with_dropout(str(self.base), recipe.model.dropout)
        self.refuse(recipe, self.examples.labels, self.tokenizer)
        self.model = select_parameters(model, recipe.tune)
        config: Any = model.config
        self.longest = min(recipe.data.max_length or config.seq_len, config.seq_len)
        train = with_targets(shortened(self.encode(self.examples.train), self.longest))
        self.dev = shortened(self.encode(self.examples.dev), self.longest)
        warn_of_unknown_tokens(train, self.tokenizer)
        self.weights = self._weights(train) if recipe.tune.balanced else None
        r, pad_id = recipe.run, config.pad_id
        self.batches = LabelledBatches(train, r.batch_tokens, r.batch_texts, r.seed, pad_id)

    @classmethod
    def check(cls, recipe: Any) -> None:
        """Refuse files and models that cannot be used, or not together."""
        labels = cls._read(recipe).labels
        model, tokenizer = with_new_head(recipe.model, cls.head, labels)
        cls.refuse(recipe, labels, tokenizer)
        select_parameters(model, recipe.tune)

    @classmethod
    @abstractmethod
    def refuse(cls, recipe: Any, labels: Sequence[str], tokenizer: PretrainedTokenizer) -> None:
        """Refuse settings that do not suit these labels or this tokenizer."""

    @classmethod
    @abstractmethod
    def read_file(cls, data: Any, spec: str) -> list[Any]:
        """The examples of one of the recipe's files."""

    @classmethod
    def _read(cls, recipe: Any) -> Examples[Any]:
        return read_examples(recipe.data, recipe.run.seed, partial(cls.read_file, recipe.data))

    @abstractmethod
    def encode(self, items: Sequence[Any]) -> list[Example]:
        """Ids and targets."""

    @abstractmethod
    def sample(self, item: Any, predicted: list[str]) -> str:
        """A validation example with its predicted labels, for the log."""

    @property
    def description(self) -> TaskDescription:
        """Texts with the labels and the class of the model."""
        labels = self.examples.labels
        origin: Any = self.model.__dict__["origin"]
        about = ABOUT.format(
            kind=type(self.model).__name__,
            count=len(labels),
            labels=listed(labels, 40),
            architecture=origin.config["architectures"][0],
        )
        metric = METRICS.get(self.recipe.run.metric, METRICS[self.default_metric])
        command = "clearhead classify --model"
        return TaskDescription(self.title, about, "labels", self.dev_unit, command, metric)

    def losses(self, model: Any, batch: LabelledBatch) -> Losses:
        """Cross-entropy of every label that counts, smoothed and weighted as the recipe says."""
        pad = partial(pad_to_multiple, multiple=self.settings.length_multiple, longest=self.longest)
        ids, segments, targets = batch
        ids = pad(ids, pad_id=model.config.pad_id)
        segments = None if segments is None else pad(segments, pad_id=0)
        targets = pad(targets, pad_id=NOTHING) if targets.ndim == 2 else targets
        scores = head_scores(model, self.head, LabelledBatch(ids, segments, targets))
        scores = scores.flatten(0, -2).float()
        labels = torch.from_numpy(targets).flatten().to(scores.device)
        plain = F.cross_entropy(scores, labels, ignore_index=NOTHING, reduction="sum")
        weights = None if self.weights is None else self.weights.to(scores.device)
        smoothed = label_loss(scores, labels, weights, self.recipe.optimizer.label_smoothing)
        return Losses(smoothed, plain.detach(), max(1, int((labels != NOTHING).sum())))

    def validate(self, model: Any, samples: int) -> ValidationResult:
        """All metrics; with samples, a table of the labels and some wrong predictions."""
        predicted, loss = predict(model, self.head, self.dev)
        labels = self.examples.labels
        confusion = ConfusionMatrix.of(labels, *counted_pairs(self.dev, predicted))
        shown = []
        if samples:
            shown.append("\n".join([*confusion.table(), confusion.summary()]))
        for index in wrong_examples(self.dev, predicted)[:samples]:
            named = [labels[i] for i in predicted[index].tolist()]
            shown.append(self.sample(self.examples.dev[index], named))
        scores = confusion.metrics() | self.more_scores(predicted)
        return ValidationResult(loss, len(self.dev), scores, shown)

    def more_scores(self, predicted: list[Any]) -> dict[str, float]:
        """Metrics that do not follow from the confusion matrix."""
        return {}

    def save(self, model: nn.Module, directory: Path) -> None:
        """Write a directory that `from_pretrained`, the pipelines and `transformers` load."""
        adaptation, base = self.recipe.tune.adaptation, self.recipe.model.path
        save_finetuned(model, self.tokenizer, adaptation, directory, base)

    def new_model(self) -> nn.Module:
        """The model with which the run began, with the same parameters frozen."""
        model, _ = load_with_dropout(str(self.base), self.recipe.model.dropout)
        return select_parameters(model, self.recipe.tune)

    def summary(self) -> str:
        """The number of examples, the labels, and which parameters are trained."""
        tune, labels = self.recipe.tune, self.examples.labels
        trained = {
            "lora": f"LoRA of rank {tune.rank} on {', '.join(tune.projections)}, and the head",
            "whole": "the whole model",
            "frozen": "the head alone",
        }[tune.method]
        epochs = self.recipe.run.steps * self.recipe.run.accumulate / self.batches.batches_an_epoch
        return (
            f"{len(self.batches.examples):,} examples, about {epochs:.1f} epochs, "
            f"{len(labels)} labels ({listed(labels)}), {len(self.dev):,} for validation; "
            f"trained: {trained}"
        )

    def _prepare(self, run: RunDirectory) -> Examples[Any]:
        if run.resumable:
            return load_examples(run, self.item)
        examples = self._read(self.recipe)
        save_examples(examples, run)
        model, tokenizer = with_new_head(self.recipe.model, self.head, examples.labels)
        save_finetuned(model, tokenizer, None, self.base, "")
        return examples

    def _weights(self, train: list[Example]) -> Tensor:
        """Weights with which every label has the same total weight, and an example 1 on average."""
        targets = np.concatenate([np.array(example.targets) for example in train])
        counts = np.bincount(targets[targets != NOTHING], minlength=len(self.examples.labels))
        return torch.tensor(counts.sum() / (len(counts) * np.maximum(1, counts))).float()


def with_new_head(
    wanted: FineTunedModel, head: Answer, labels: list[str]
) -> tuple[Pretrained, PretrainedTokenizer]:
    """The recipe's model with a new head for these labels, and its tokenizer.

    Raises:
        UserError: no model is named, it cannot be loaded, or it has no such head.
    """
    if not wanted.path:
        raise UserError(
            "there is nothing to fine-tune; name a BERT or ESM-2: --set model.path=DIRECTORY"
        )
    model, tokenizer = load_with_dropout(wanted.path, wanted.dropout)
    return with_head(model, head, labels), tokenizer


def load_with_dropout(path: str, rate: float | None) -> tuple[Pretrained, PretrainedTokenizer]:
    """A model with this dropout rate, None: its own, and its tokenizer."""
    model, tokenizer = load(path)
    config: Any = model.config
    if rate is None or rate == config.dropout == config.attention_dropout:
        return model, tokenizer
    rates = {"dropout": rate, "attention_dropout": rate}
    other = cast(Any, type(model)).from_config(replace(config, **rates))
    other.load_state_dict(model.state_dict())
    other.__dict__["origin"] = getattr(model, "origin", None)
    return other, tokenizer


def select_parameters(model: Pretrained, tune: Tune) -> Pretrained:
    """Add adapters or freeze parameters as the recipe says; the head is always trained."""
    if adaptation := tune.adaptation:
        adapt(model, adaptation)
    elif tune.method == "frozen":
        model.requires_grad_(False)
    cast(nn.Module, model.heads).requires_grad_(True)
    return model


def save_finetuned(
    model: nn.Module,
    tokenizer: PretrainedTokenizer,
    adaptation: Adaptation | None,
    directory: Path,
    base: str,
) -> None:
    """Write a model directory, with low-rank adapters merged into the weights.

    The adapters alone are saved in `directory`/adapter, for use with the model `base`.
    """
    if adaptation is not None:
        save_adapter(model, adaptation, directory / "adapter", Path(base).name)
        model = merge(copy.deepcopy(model))
    save_pretrained(model, directory, torch.float32)
    tokenizer.save(directory)
