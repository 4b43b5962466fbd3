"""Metrics of classifiers, all computed from a confusion matrix, and the F1 of labelled spans."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError

Counts = NDArray[np.int64]
Span = tuple[str, int, int]  # type, first word, index after the last word
OUTSIDE = "O"


class ClassScore(NamedTuple):
    """The metrics of one label, between 0 and 1, and its number of examples."""

    label: str
    precision: float
    recall: float
    f1: float
    examples: int


@dataclass(frozen=True)
class ConfusionMatrix:
    """`counts[i, j]` examples of label i were predicted as label j.

    The metrics have the values that scikit-learn computes.

    Shape: counts (labels, labels)
    """

    labels: Sequence[str]
    counts: Counts

    @classmethod
    def of(
        cls, labels: Sequence[str], truth: Counts | Sequence[int], predicted: Counts | Sequence[int]
    ) -> Self:
        """Count pairs of label indices: truth and predicted, (examples,) each.

        Raises:
            UserError: the two have different lengths, or an index has no label.
        """
        size = len(labels)
        truth, predicted = (np.asarray(indices, np.int64) for indices in (truth, predicted))
        every = np.concatenate([truth, predicted])
        if len(truth) != len(predicted) or not ((every >= 0) & (every < size)).all():
            raise UserError(
                f"{len(truth)} true and {len(predicted)} predicted labels; expected one of each "
                f"for every example, as an index from 0 to {size - 1}"
            )
        counts = np.zeros((size, size), np.int64)
        np.add.at(counts, (truth, predicted), 1)
        return cls(labels, counts)

    @property
    def examples(self) -> int:
        """The number of predictions."""
        return int(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """The fraction of correct predictions."""
        return float(np.trace(self.counts)) / max(1, self.examples)

    @property
    def majority(self) -> float:
        """The accuracy of always predicting the most frequent label: the baseline."""
        return float(self.counts.sum(axis=1).max()) / max(1, self.examples)

    @property
    def macro_f1(self) -> float:
        """The mean F1 of all labels that occur or were predicted, rare and frequent ones alike."""
        used = self.counts.sum(axis=0) + self.counts.sum(axis=1) > 0
        f1 = [score.f1 for score, seen in zip(self.by_class(), used, strict=True) if seen]
        return sum(f1) / max(1, len(f1))

    @property
    def matthews(self) -> float:
        r"""Matthews correlation of truth and prediction, 0 for guessing (Gorodkin 2004).

        .. math:: \frac{c s - \sum_k t_k p_k}
                  {\sqrt{(s^2 - \sum_k p_k^2)(s^2 - \sum_k t_k^2)}}

        with c correct predictions of s, t_k examples and p_k predictions of label k.
        """
        counts = self.counts.astype(np.float64)
        s, t, p = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
        below = math.sqrt((s**2 - p @ p) * (s**2 - t @ t))
        return float((np.trace(counts) * s - t @ p) / below) if below else 0.0

    def metrics(self) -> dict[str, float]:
        """Accuracy, macro F1 and Matthews correlation, by their keys in metrics.jsonl."""
        return {"accuracy": self.accuracy, "macro_f1": self.macro_f1, "matthews": self.matthews}

    def by_class(self) -> list[ClassScore]:
        """Precision, recall, F1 and number of examples of every label; 0 if undefined."""
        correct = np.diag(self.counts)
        predicted, true = self.counts.sum(axis=0), self.counts.sum(axis=1)
        return [
            ClassScore(
                label,
                float(correct[i] / max(1, predicted[i])),
                float(correct[i] / max(1, true[i])),
                float(2 * correct[i] / max(1, predicted[i] + true[i])),
                int(true[i]),
            )
            for i, label in enumerate(self.labels)
        ]

    def summary(self) -> str:
        """The metrics over all labels, and the baseline."""
        return (
            f"accuracy {self.accuracy:.4f}, macro F1 {self.macro_f1:.4f}, Matthews "
            f"{self.matthews:.4f}; always the most frequent label: accuracy {self.majority:.4f}"
        )

    def table(self, most: int = 40) -> Iterator[str]:
        """A line for each label: precision, recall, F1, examples and the most frequent mistake."""
        width = max([len(label) for label in self.labels[:most]] + [5])
        yield f"{'label':<{width}}  precision  recall      F1  examples  most often predicted as"
        for i, score in enumerate(self.by_class()[:most]):
            wrong = self.counts[i].copy()
            wrong[i] = 0
            worst = int(wrong.argmax())
            mistake = f"{self.labels[worst]} ({wrong[worst]})" if wrong[worst] else "–"
            if not score.examples and not self.counts[:, i].any():
                yield f"{score.label:<{width}}  {'–':>9}  {'–':>6}  {'–':>6}  {0:8d}  not validated"
                continue
            yield (
                f"{score.label:<{width}}  {score.precision:9.3f}  {score.recall:6.3f}  "
                f"{score.f1:6.3f}  {score.examples:8d}  {mistake}"
            )
        if len(self.labels) > most:
            yield f"… and {len(self.labels) - most} more labels"


def are_span_labels(labels: Sequence[str]) -> bool:
    """Whether labels are O and B-TYPE or I-TYPE, as CoNLL writes them."""
    others = [label for label in labels if label != OUTSIDE]
    return any(label.startswith("B-") for label in others) and all(
        label[:2] in ("B-", "I-") and len(label) > 2 for label in others
    )


def spans(labels: Sequence[str | None]) -> list[Span]:
    """The spans of one sentence, as the CoNLL script reads them.

    A span begins at B-, and at an I- that continues none of its type; a label that is ignored
    (None) ends it.
    """
    found: list[Span] = []
    kind, start = "", 0
    for position, label in enumerate([*labels, OUTSIDE]):
        prefix, _, named = (label or OUTSIDE).partition("-")
        continues = prefix == "I" and named == kind
        if kind and not continues:
            found.append((kind, start, position))
            kind = ""
        if prefix in ("B", "I") and not continues:
            kind, start = named, position
    return found


def span_f1(
    truth: Iterable[Sequence[str | None]], predicted: Iterable[Sequence[str | None]]
) -> float:
    """F1 of whole spans, type included: 2 · correct / (true + predicted) over all sentences."""
    correct = total = 0
    for one, other in zip(truth, predicted, strict=True):
        true, found = spans(one), spans(other)
        correct += len(set(true) & set(found))
        total += len(true) + len(found)
    return 2 * correct / total if total else 0.0
