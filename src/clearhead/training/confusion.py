"""How often each label was taken for each other: all scores of a classifier follow from it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


class ClassScore(NamedTuple):
    """How one label fares: shares of 1, and how many examples have it."""

    label: str
    precision: float
    recall: float
    f1: float
    examples: int


@dataclass(frozen=True)
class Confusion:
    """`counts[i, j]` examples of label i were said to be j; numbers as scikit-learn gives them.

    Shape: counts (labels, labels)
    """

    labels: Sequence[str]
    counts: Counts

    @classmethod
    def of(cls, labels: Sequence[str], truth: Counts, said: Counts) -> Self:
        """Count pairs of label numbers: truth and said, (examples,) each."""
        size = len(labels)
        pairs = np.bincount(truth * size + said, minlength=size * size)
        return cls(labels, pairs.reshape(size, size).astype(np.int64))

    @property
    def examples(self) -> int:
        """How many were judged."""
        return int(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """The share that is right."""
        return float(np.trace(self.counts)) / max(1, self.examples)

    @property
    def majority(self) -> float:
        """The accuracy of saying the most frequent label every time: what must be beaten."""
        return float(self.counts.sum(axis=1).max()) / max(1, self.examples)

    @property
    def macro_f1(self) -> float:
        """The mean F1 of all labels that occur or were said; a rare one counts like a frequent."""
        seen = [score for score, used in zip(self.by_class(), self._used(), strict=True) if used]
        return sum(score.f1 for score in seen) / max(1, len(seen))

    @property
    def matthews(self) -> float:
        r"""Correlation of truth and answer, 0 for guessing (Gorodkin 2004).

        .. math:: \frac{c s - \sum_k t_k p_k}
                  {\sqrt{(s^2 - \sum_k p_k^2)(s^2 - \sum_k t_k^2)}}

        with c right ones of s, t_k examples of label k and p_k answers k.
        """
        counts = self.counts.astype(np.float64)
        s, t, p = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
        below = math.sqrt((s**2 - p @ p) * (s**2 - t @ t))
        return float((np.trace(counts) * s - t @ p) / below) if below else 0.0

    def by_class(self) -> list[ClassScore]:
        """Precision, recall, F1 and number of examples of every label; 0 where there is nothing."""
        right = np.diag(self.counts)
        said, true = self.counts.sum(axis=0), self.counts.sum(axis=1)
        return [
            ClassScore(
                label,
                float(right[i] / max(1, said[i])),
                float(right[i] / max(1, true[i])),
                float(2 * right[i] / max(1, said[i] + true[i])),
                int(true[i]),
            )
            for i, label in enumerate(self.labels)
        ]

    def summary(self) -> str:
        """The numbers of all labels together, and what they are to be compared with."""
        return (
            f"accuracy {self.accuracy:.4f}, macro F1 {self.macro_f1:.4f}, Matthews "
            f"{self.matthews:.4f}; always the most frequent label: accuracy {self.majority:.4f}"
        )

    def _used(self) -> NDArray[np.bool_]:
        used: NDArray[np.bool_] = (self.counts.sum(axis=0) + self.counts.sum(axis=1)) > 0
        return used

    def table(self, most: int = 40) -> Iterator[str]:
        """A line a label: precision, recall, F1, examples, and what it is most often taken for."""
        width = max([len(label) for label in self.labels[:most]] + [5])
        yield f"{'label':<{width}}  precision  recall      F1  examples  most often taken for"
        for i, score in enumerate(self.by_class()[:most]):
            wrong = self.counts[i].copy()
            wrong[i] = 0
            worst = int(wrong.argmax())
            taken = f"{self.labels[worst]} ({wrong[worst]})" if wrong[worst] else "–"
            yield (
                f"{score.label:<{width}}  {score.precision:9.3f}  {score.recall:6.3f}  "
                f"{score.f1:6.3f}  {score.examples:8d}  {taken}"
            )
        if len(self.labels) > most:
            yield f"… and {len(self.labels) - most} labels more"
