"""Evaluation of classifiers on labelled data, and probabilities that are calibrated."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from clearhead.data.labelled import check_labels
from clearhead.errors import UserError
from clearhead.pretrained import load
from clearhead.pretrained.new_heads import label_names
from clearhead.training.classification_metrics import ConfusionMatrix
from clearhead.training.finetuning_recipe import TextData, WordData
from clearhead.training.tasks import classification as task
from clearhead.training.tasks.finetuning_model import counted_pairs, predict
from clearhead.training.tasks.labelled_examples import shortened


@dataclass(frozen=True)
class LabelEvaluation:
    """All scores follow from the confusion matrix; span F1 if the labels mark spans."""

    confusion: ConfusionMatrix
    loss: float  # nats per label
    span_f1: float | None

    def as_json(self) -> str:
        """Shares from 0 to 1, nothing rounded."""
        found = self.confusion
        values: dict[str, Any] = {
            "examples": found.examples,
            "accuracy": found.accuracy,
            "macro_f1": found.macro_f1,
            "matthews": found.matthews,
            "majority": found.majority,
            "loss": self.loss,
            "by_label": [score._asdict() for score in found.by_class()],
            "labels": list(found.labels),
            "confusion": found.counts.tolist(),
        }
        if self.span_f1 is not None:
            values["span_f1"] = self.span_f1
        return json.dumps(values, indent=2, ensure_ascii=False)


def evaluate_labelled(
    directory: str | Path, spec: str, columns: TextData | WordData | None = None
) -> LabelEvaluation:
    """Evaluate a fine-tuned model on a file with labels, or on `grammar:test:COUNT`.

    The model's head decides whether it labels texts or words; `columns` names the file's columns.

    Raises:
        UserError: the model has no classifier, the file is malformed, or a label is unknown to the
            model.
    """
    model, tokenizer = load(directory)
    labels, heads = label_names(model), set(getattr(model, "heads", ()))
    longest: int = getattr(model.config, "seq_len", 0)
    if "sequence" in heads:
        data = columns if isinstance(columns, TextData) else TextData()
        task.refuse_pairs(data, tokenizer)
        texts = task.read_texts(data, spec)
        check_labels(texts, labels)
        examples = shortened(task.encode_texts(texts, labels, tokenizer), longest)
        predicted, loss = predict(model, "sequence", examples)
        return LabelEvaluation(
            ConfusionMatrix.of(labels, *counted_pairs(examples, predicted)), loss, None
        )
    if "token" not in heads:
        raise UserError(
            f"{directory} has no classifier; fine-tune it first: clearhead train classification or "
            "clearhead train tagging"
        )
    words = task.read_words(columns if isinstance(columns, WordData) else WordData(), spec)
    check_labels(words, labels)
    examples = shortened(task.encode_words(words, labels, tokenizer), longest)
    predicted, loss = predict(model, "token", examples)
    found = ConfusionMatrix.of(labels, *counted_pairs(examples, predicted))
    return LabelEvaluation(found, loss, task.score_spans(words, predicted, labels, tokenizer))


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TEMPERATURES = np.geomspace(0.2, 10.0, 200)
BINS = 10


def class_scores(labels: Sequence[str], truth: Ints, logits: Floats) -> dict[str, float]:
    """Accuracy, macro F1 and Matthews correlation of the likeliest classes.

    Shape:
        truth: (records,), logits: (records, classes)
    """
    found = ConfusionMatrix.of(labels, truth, logits.argmax(axis=1))
    return {"accuracy": found.accuracy, "macro_f1": found.macro_f1, "matthews": found.matthews}


def spearman(one: Floats, other: Floats) -> float:
    """The correlation of ranks; equal values share their mean rank. 0 where a side is constant."""
    a, b = ranks(one), ranks(other)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else 0.0


def ranks(values: Floats) -> Floats:
    """Rank of each value from 0; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts) - 1
    return (last - (counts - 1) / 2)[places].astype(np.float64)


def probabilities(logits: Floats, temperature: float = 1.0) -> Floats:
    """Softmax over the last axis."""
    return torch.from_numpy(logits / temperature).softmax(dim=-1).numpy()


def fit_temperature(logits: Floats, truth: Ints) -> float:
    r"""The temperature T whose probabilities fit held-out records best (Guo et al. 2017).

    .. math:: T = \arg\min_T \; (\ln T)^2 - \sum_i \log \text{softmax}(s_i / T)_{y_i}

    One number: it changes how sure a model is, never which class it names. The first term is a
    log-normal prior; without it, a few records that are all correct would give T = 0.
    """
    scores, labels = torch.from_numpy(logits), torch.from_numpy(truth)
    losses = [
        math.log(t) ** 2 + float(F.cross_entropy(scores / t, labels, reduction="sum"))
        for t in TEMPERATURES.tolist()
    ]
    return float(TEMPERATURES[int(np.argmin(losses))])


def reliability(chances: Floats, truth: Ints) -> tuple[Floats, float]:
    """Rows of (mean probability, share correct, records) by ten bins, and the calibration error.

    The error is the mean distance of the two, weighted by records (expected calibration error).

    Shape:
        chances: (records, classes), truth: (records,) -> (bins, 3), a number
    """
    sure, right = chances.max(axis=1), chances.argmax(axis=1) == truth
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    rows = [
        (sure[bins == b].mean(), right[bins == b].mean(), (bins == b).sum())
        for b in range(BINS)
        if (bins == b).any()
    ]
    table = np.array(rows, dtype=np.float64)
    error = float(np.abs(table[:, 0] - table[:, 1]) @ table[:, 2] / len(truth))
    return table, error
