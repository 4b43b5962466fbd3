"""Learning the labels of sequences: the trainer's task."""

import logging
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.biology.answering import counted_scores
from clearhead.biology.building import new_model, new_vocabulary
from clearhead.biology.domains import DOMAINS
from clearhead.biology.examples import (
    Encoder,
    Parts,
    both_strands,
    is_split_off,
    labels_of,
    numbers_of,
    read_parts,
)
from clearhead.biology.linear_part import PositionWeights
from clearhead.biology.model import SequenceModel, save_model
from clearhead.biology.recipe import BiologyRecipe
from clearhead.biology.scale import standardized
from clearhead.biology.vocabulary import Vocabulary
from clearhead.data.labelled_batches import NOTHING, LabelledBatch, LabelledBatches
from clearhead.data.sequences import Record
from clearhead.errors import listed
from clearhead.evaluation.labelled import class_scores, spearman
from clearhead.training.device_settings import DeviceSettings
from clearhead.training.objective import Losses
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Metric, TaskDescription, ValidationResult
from clearhead.training.tasks.labelled_examples import (
    Examples,
    label_loss,
    load_examples,
    save_examples,
)

log = logging.getLogger("clearhead.train")
ABOUT = "{title} model trained with clearhead; predicts {what}. Use it with `{command} DIRECTORY`."
SCORES = {
    "accuracy": Metric("accuracy", "accuracy", "Share of correct answers", 4),
    "macro_f1": Metric("macro_f1", "macro F1", "Macro F1: the mean over the classes", 4),
    "matthews": Metric("matthews", "Matthews", "Matthews correlation", 4),
    "spearman": Metric("spearman", "Spearman", "Spearman correlation", 4, numbers=True),
}


class LabelledSequences:
    """A class for a sequence, a class for each position, or a number."""

    predicts_tokens = False

    def __init__(self, recipe: BiologyRecipe, run: RunDirectory, settings: DeviceSettings) -> None:
        self.recipe, self.settings = recipe, settings
        self.parts = self._parts(run)
        self.vocabulary = self._vocabulary(run)
        self.model = new_model(recipe, self.parts, self.vocabulary)
        config = self.model.config
        encode = Encoder(self.vocabulary, self.parts.labels, self.parts.answer, config.longest)
        train, by_position = self.parts.train, config.head == "token"
        self.train_records = both_strands(train, by_position) if config.strands else train
        self.dev = encode(self.parts.dev)
        self.values = self._values(self.train_records)
        self.weights = self._weights()
        examples = encode(self.train_records)
        self._report_cut([*self.parts.train, *self.parts.dev])
        if isinstance(self.model.linear, PositionWeights) and self.values is not None:
            ids = self.model.read(torch.tensor([example.ids for example in examples]))
            self.model.linear.fit(ids.numpy(), self.values)
        r = recipe.run
        self.batches = LabelledBatches(
            examples, r.batch_tokens, r.batch_texts, r.seed,
            config.encoder.pad_id,
        )  # fmt: skip

    @classmethod
    def check(cls, recipe: BiologyRecipe) -> None:
        """Refuse files that cannot be used before a run directory is touched."""
        read_parts(recipe.data, recipe.run.seed)

    @property
    def description(self) -> TaskDescription:
        """Names for the log and the model's README.md."""
        labels, domain = self.parts.labels, self.recipe.data.domain
        what = ", ".join(labels[:20]) if labels else "a number"
        title, command = DOMAINS[domain].title, f"clearhead bio {domain} predict"
        about = ABOUT.format(title=title, what=what, command=command)
        kind, usual = ("classifier", "matthews") if labels else ("regression", "spearman")
        score = SCORES.get(self.recipe.run.metric, SCORES[usual])
        return TaskDescription(f"{title} {kind}", about, "labels", "sequences", command, score)

    def losses(self, model: Any, batch: LabelledBatch) -> Losses:
        """Cross-entropy of classes, squared error of standardized numbers; summed."""
        device = next(model.parameters()).device
        ids = self._noisy(torch.from_numpy(batch.ids).to(device))
        output = model(ids).float()
        targets = torch.from_numpy(batch.targets).to(device)
        if self.values is not None:
            loss = (output[:, 0] - self.values.to(device)[targets]).square().sum()
            return Losses(loss, loss.detach(), len(targets))
        flat, wanted = output.flatten(0, -2), targets.flatten()
        smoothing = self.recipe.optimizer.label_smoothing
        smoothed = label_loss(flat, wanted, self.weights.to(device), smoothing)
        plain = F.cross_entropy(flat, wanted, ignore_index=NOTHING, reduction="sum").detach()
        return Losses(smoothed, plain, max(1, int((wanted != NOTHING).sum())))

    def validate(self, model: SequenceModel, samples: int) -> ValidationResult:
        """Scores on the held-out records."""
        logits, labels = counted_scores(model, self.dev)
        if not self.parts.labels:
            truth = standardized(np.array(numbers_of(self.parts.dev)), model.config.scale)
            said = logits[:, 0]
            loss = float(np.square(truth - said).mean())
            return ValidationResult(loss, len(truth), {"spearman": spearman(truth, said)}, [])
        loss = float(F.cross_entropy(torch.from_numpy(logits), torch.from_numpy(labels)))
        return ValidationResult(
            loss, len(self.dev), class_scores(self.parts.labels, labels, logits), []
        )

    def save(self, model: SequenceModel, directory: Path) -> None:
        """A model directory."""
        save_model(model, self.vocabulary, directory)

    def new_model(self) -> SequenceModel:
        """A model of the same shape."""
        return SequenceModel(self.model.config)

    def summary(self) -> str:
        """What is learned from."""
        epochs = self.recipe.run.steps * self.recipe.run.accumulate / self.batches.batches_an_epoch
        labels = self.parts.labels
        what = f"{len(labels)} classes ({listed(labels)})" if labels else "numbers"
        return (
            f"{len(self.batches.examples):,} sequences, {epochs:.1f} epochs, {what}, "
            f"{len(self.dev):,} held out"
        )

    def _report_cut(self, records: list[Record]) -> None:
        longest = self.model.config.longest
        if self.vocabulary.cut.kind == "genes":
            return
        room, encode = longest - sum(self.vocabulary.edges), self.vocabulary.encode
        if cut := sum(len(encode(r.sequence)) > longest for r in records if len(r.sequence) > room):
            log.warning(
                "%d of %d sequences are longer than model.max_length=%d tokens: their ends are cut",
                cut, len(records), longest,
            )  # fmt: skip

    def _noisy(self, ids: Tensor) -> Tensor:
        """Some tokens masked, as many replaced at random: no single letter can be relied on."""
        rate = self.recipe.augment.noise
        if not rate:
            return ids
        specials = self.vocabulary.specials
        ordinary = torch.ones(len(self.vocabulary.tokens), dtype=torch.bool)
        ordinary[list(specials.values())] = False
        tokens = ordinary.nonzero()[:, 0].to(ids.device)
        chosen = (torch.rand(ids.shape, device=ids.device) < rate) & ordinary.to(ids.device)[ids]
        others = tokens[torch.randint(len(tokens), ids.shape, device=ids.device)]
        masks = torch.full_like(ids, specials["mask"])
        drawn = torch.where(torch.rand(ids.shape, device=ids.device) < 0.5, masks, others)
        return torch.where(chosen, drawn, ids)

    def _parts(self, run: RunDirectory) -> Parts:
        if run.resumable:
            kept = load_examples(run, Record)
            data = self.recipe.data
            return Parts(*kept, data.answer, is_split_off(data, kept.dev))
        parts = read_parts(self.recipe.data, self.recipe.run.seed)
        save_examples(Examples(parts.train, parts.dev, parts.labels), run)
        return parts

    def _vocabulary(self, run: RunDirectory) -> Vocabulary:
        if run.resumable:
            return Vocabulary.load(run.data)
        sequences = (record.sequence for record in self.parts.training_data)
        vocabulary = new_vocabulary(self.recipe, sequences)
        vocabulary.save(run.data)
        return vocabulary

    def _values(self, records: list[Record]) -> Tensor | None:
        """Numbers in units of their deviation in training; none where labels are classes."""
        if self.parts.labels:
            return None
        values = standardized(np.array(numbers_of(records)), self.model.config.scale)
        return torch.from_numpy(values).float()

    def _weights(self) -> Tensor:
        """Of the classes in the loss: 1, or the inverse of their shares where balanced."""
        labels = self.parts.labels
        if not self.recipe.optimizer.balanced or not labels:
            return torch.ones(max(1, len(labels)))
        answer, train = self.parts.answer, self.parts.train
        every = Counter(chain.from_iterable(labels_of(record, answer) for record in train))
        return torch.tensor([every.total() / len(labels) / (every[label] or 1) for label in labels])
