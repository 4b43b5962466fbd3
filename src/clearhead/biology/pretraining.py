"""Masked-language-model training on unlabelled sequences: the trainer's task."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import torch
import torch.nn.functional as F

from clearhead.biology.building import new_vocabulary, unlabelled_model
from clearhead.biology.domains import DOMAINS, read
from clearhead.biology.model import SequenceModel, save_model
from clearhead.biology.recipe import BiologyData, PretrainingRecipe
from clearhead.biology.vocabulary import Vocabulary
from clearhead.data.labelled_batches import Example, LabelledBatches
from clearhead.data.labelled_batches import pad as padded
from clearhead.data.masking import IGNORED, Masked, Spans, hide_spans
from clearhead.data.sequences import Columns
from clearhead.decoding.readable import in_eval_mode
from clearhead.errors import UserError
from clearhead.files import atomic_save
from clearhead.training.device_settings import DeviceSettings
from clearhead.training.objective import Losses
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Metric, TaskDescription, ValidationResult

DEV_WINDOWS = 500
SCORE = Metric("accuracy", "accuracy", "Share of masked tokens predicted", 4)
ABOUT = """\
{title} encoder trained with clearhead to fill in masked tokens. Fine-tune it with
`clearhead bio {domain} train DATA --set model.path=DIRECTORY`."""


class Windows(NamedTuple):
    """Sequences cut into windows of tokens: for training, and held out."""

    train: list[Example]
    dev: list[Example]


class MaskedBatches(Iterator[Masked]):
    """An endless walk through windows with other spans hidden in every epoch."""

    def __init__(self, plain: LabelledBatches, spans: Spans) -> None:
        self.plain, self.spans = plain, spans
        self.state, self.restore = plain.state, plain.restore

    @property
    def epoch(self) -> int:
        """How often all of it was seen."""
        return self.plain.epoch

    def __next__(self) -> Masked:
        seeds = (self.plain.seed, self.plain.epoch, self.plain.index)
        return hide_spans(next(self.plain).ids, self.spans, *seeds)


class MaskedSequences:
    """Masked tokens, from the tokens on both sides of them."""

    predicts_tokens = False

    def __init__(
        self, recipe: PretrainingRecipe, run: RunDirectory, settings: DeviceSettings
    ) -> None:
        if recipe.data.dev:
            raise UserError(
                "data.dev is not read in pre-training, which holds windows of data.train out for "
                "validation; remove it"
            )
        self.recipe = recipe
        self.vocabulary = self._vocabulary(run)
        self.model = unlabelled_model(recipe, self.vocabulary)
        windows = self._windows(run)
        specials, masking = self.vocabulary.specials, recipe.masking
        ordinary = np.setdiff1d(np.arange(len(self.vocabulary.tokens)), list(specials.values()))
        span = masking.span or self.vocabulary.overlap
        self.spans = Spans(masking.share, span, specials["mask"], ordinary)
        r = recipe.run
        pad_id = self.model.config.encoder.pad_id
        plain = LabelledBatches(windows.train, r.batch_tokens, r.batch_texts, r.seed, pad_id)
        self.batches, self.dev = MaskedBatches(plain, self.spans), windows.dev

    @classmethod
    def check(cls, recipe: PretrainingRecipe) -> None:
        """Refuse a file that cannot be read before a run directory is touched."""
        for _ in sequences_of(recipe.data):
            pass

    @property
    def description(self) -> TaskDescription:
        """Names for the log and the model's README.md."""
        domain = self.recipe.data.domain
        title = DOMAINS[domain].title
        about = ABOUT.format(title=title, domain=domain)
        command = f"clearhead bio {domain} embed"
        return TaskDescription(
            f"{title} encoder", about, "masked tokens", "windows", command, SCORE
        )

    def losses(self, model: SequenceModel, batch: Masked) -> Losses:
        """Cross-entropy of the hidden tokens; the head is computed at these alone."""
        device = next(model.parameters()).device
        ids, labels = (torch.from_numpy(side).to(device) for side in batch)
        wanted = labels != IGNORED
        # (batch, seq_len, d_model) -> (hidden tokens, d_model) -> (hidden tokens, vocab_size)
        scores = model.head(model.hidden(ids)[wanted], None).float()
        loss = F.cross_entropy(scores, labels[wanted], reduction="sum")
        return Losses(loss, loss.detach(), max(1, int(wanted.sum())))

    @torch.inference_mode()
    def validate(self, model: SequenceModel, samples: int) -> ValidationResult:
        """Loss and accuracy on held-out windows, the same spans hidden every time."""
        loss, right, count = 0.0, 0, 0
        with in_eval_mode(model):
            for number in range(0, len(self.dev), 64):
                ids = padded(self.dev[number : number + 64], model.config.encoder.pad_id).ids
                hidden, labels = hide_spans(ids, self.spans, number)
                wanted = torch.from_numpy(labels) != IGNORED
                device = next(model.parameters()).device
                states = model.hidden(torch.from_numpy(hidden).to(device)).cpu()[wanted]
                scores = model.head(states.to(device), None).float().cpu()
                truth = torch.from_numpy(labels)[wanted]
                loss += float(F.cross_entropy(scores, truth, reduction="sum"))
                right += int((scores.argmax(-1) == truth).sum())
                count += len(truth)
        return ValidationResult(
            loss / max(1, count), len(self.dev), {"accuracy": right / max(1, count)}, []
        )

    def save(self, model: SequenceModel, directory: Path) -> None:
        """A model directory."""
        save_model(model, self.vocabulary, directory)

    def new_model(self) -> SequenceModel:
        """A model of the same shape."""
        return SequenceModel(self.model.config)

    def summary(self) -> str:
        """What is learned from."""
        return (
            f"{len(self.batches.plain.examples):,} windows, {len(self.dev):,} held out, "
            f"vocabulary {len(self.vocabulary.tokens):,}, spans of {self.spans.length} masked"
        )

    def _vocabulary(self, run: RunDirectory) -> Vocabulary:
        if run.resumable:
            return Vocabulary.load(run.data)
        vocabulary = new_vocabulary(self.recipe, sequences_of(self.recipe.data))
        if "mask" not in vocabulary.specials:
            raise UserError("the vocabulary has no mask token; choose another model.path")
        vocabulary.save(run.data)
        return vocabulary

    def _windows(self, run: RunDirectory) -> Windows:
        """Windows of at most model.max_length tokens; every hundredth is held out."""
        path = run.data / "windows.npz"
        if run.resumable and path.exists():  # else of a start whose data may have been others
            rows: Sequence[Any] = read_windows(path)
        else:
            texts = sequences_of(self.recipe.data)
            rows = [np.array(row) for text in texts for row in self._cut(text)]
            atomic_save(path, partial(write_windows, rows))
        every = max(2, min(100, len(rows) // 2), -(-len(rows) // DEV_WINDOWS))
        examples = [Example(row.tolist(), None, [0]) for row in rows]
        dev = examples[::every]
        train = [example for number, example in enumerate(examples) if number % every]
        if not train:
            raise UserError(f"{self.recipe.data.train}: one window, none for validation; add data")
        return Windows(train, dev)

    def _cut(self, text: str) -> Iterator[list[int]]:
        before, after = self.vocabulary.edges
        ids = self.vocabulary.encode(text)
        first, last = ids[:before], ids[len(ids) - after :]
        inner = ids[before : len(ids) - after]
        room = min(self.recipe.model.max_length, self.model.config.encoder.seq_len) - before - after
        for start in range(0, len(inner), room):
            yield [*first, *inner[start : start + room], *last]


def sequences_of(data: BiologyData) -> Iterator[str]:
    """The sequences of data.train, streamed."""
    found = read(data.train, Columns(data.sequence), data.domain)
    return (record.sequence for record in found)


def write_windows(rows: Sequence[Any], path: Path) -> None:
    """What `read_windows` reads."""
    with path.open("wb") as file:  # to a name without .npz, NumPy would add it
        ends = np.cumsum([len(row) for row in rows])[:-1]
        np.savez(file, ids=np.concatenate(rows), ends=ends)


def read_windows(path: Path) -> Sequence[Any]:
    """The windows of a run: all ids in a row, and where each window but the last ends.

    Raises:
        UserError: the file is damaged.
    """
    try:
        with path.open("rb") as file, np.load(file) as stored:
            return np.split(stored["ids"], stored["ends"])
    except (BadZipFile, EOFError, KeyError, OSError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); delete it and resume again") from error
