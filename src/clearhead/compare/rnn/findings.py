"""Sentences that follow from the numbers; none of them is written beforehand.

Each question has a number for every entrant. The Transformer wins it, the best RNN wins it, or
they are too close to call: the report sorts the questions by that.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clearhead.compare.rnn.entrants import TRANSFORMER
from clearhead.compare.rnn.numbers import Lesson, Numbers, PerName, Recall
from clearhead.compare.rnn.recall import DONE

CLOSE = 0.05  # a difference below this share of the larger is none
RECALL_MARGIN = 6.0  # percent; two standard deviations of 256 guesses
BLEU_MARGIN = 1.0
TIE = "too close to call"


@dataclass(frozen=True)
class Question:
    """A number for every entrant; `unit` is written behind it."""

    about: str
    values: dict[str, float]
    unit: str
    less_is_better: bool = True
    margin: float = 0.0  # a difference up to this is chance, whatever its share

    @property
    def best_rnn(self) -> str:
        """The name of the best of the others."""
        others = {name: value for name, value in self.values.items() if name != TRANSFORMER}
        return (min if self.less_is_better else max)(others, key=others.__getitem__)

    @property
    def winner(self) -> str:
        """TRANSFORMER, the name of an RNN, or TIE."""
        ours, theirs = self.values[TRANSFORMER], self.values[self.best_rnn]
        if abs(ours - theirs) <= max(self.margin, CLOSE * max(abs(ours), abs(theirs))):
            return TIE
        return TRANSFORMER if (ours < theirs) == self.less_is_better else self.best_rnn

    def sentence(self) -> str:
        """Both numbers, and how many times the one the other is."""
        ours, theirs = self.values[TRANSFORMER], self.values[self.best_rnn]
        low, high = sorted((ours, theirs))
        times = f", a factor of {number(high / low)}" if low > 0 and self.winner != TIE else ""
        if self.winner == TIE and high - low > CLOSE * high:
            times = f"; chance alone makes differences of up to {number(self.margin)}{self.unit}"
        return (
            f"{self.about}: Transformer {number(ours)}{self.unit}, "
            f"best RNN ({self.best_rnn}) {number(theirs)}{self.unit}{times}"
        )


def questions(found: Numbers) -> Iterator[Question]:
    """Everything that is asked of the numbers."""
    wall, writing = found.wall, found.writing
    for place in (0, -1):
        about = f"A training step of {wall.tokens:,} tokens in sentences of {wall.lengths[place]}"
        yield Question(about, _at(wall.seconds, place, 1e3), " ms")
    about = f"Memory kept for its backward pass in sentences of {wall.lengths[-1]}"
    yield Question(about, _at(wall.megabytes, -1), " MB")
    yield from _memory_questions(found)
    for lesson in found.lessons:
        yield from _lesson_questions(lesson)
    about = f"Writing {writing.lengths[-1]} tokens"
    yield Question(f"{about}, time of a token", _at(writing.microseconds, -1), " µs")
    yield Question(f"{about}, memory carried at the end", _at(writing.kilobytes, -1), " kB")


def _memory_questions(found: Numbers) -> Iterator[Question]:
    gradients, recall = found.gradients, found.recall
    for when, norms in (("", gradients.norms), (", after training", gradients.trained)):
        if norms:
            about = f"Share of the gradient left {gradients.distances[-1]} words back{when}"
            left = {n: 100 * left_of(gradients.distances, own)[-1] for n, own in norms.items()}
            yield Question(about, left, " %", less_is_better=False)
    for place in (0, -1):
        back = recall.distances[place]
        percent = _at(recall.accuracy, place, 100)
        yield Question(f"Recall of a token {back} back", percent, " %", False, RECALL_MARGIN)
        never = f"{recall.most[place]:,}: it never was"
        about = f"Sequences until a token {back} back was recalled ({never})"
        yield Question(about, _needed(recall, place), "")


def _needed(recall: Recall, place: int) -> dict[str, float]:
    """Who never learnt it has no fewer to show, though its clock may have run out earlier."""
    return {
        name: own[place] if recall.accuracy[name][place] >= DONE else float(recall.most[place])
        for name, own in recall.sequences.items()
    }


def _lesson_questions(lesson: Lesson) -> Iterator[Question]:
    for place in (0, -1):
        points = {name: curve[place] for name, curve in lesson.curves.items()}
        seconds = lesson.seconds if place else points[TRANSFORMER].seconds
        about = f"{lesson.title}, {lesson.pairs:,} pairs, after {seconds:.0f} s"
        bleu = {name: point.bleu for name, point in points.items()}
        yield Question(f"{about}: BLEU", bleu, "", False, BLEU_MARGIN)
    best = {name: min(point.loss for point in curve) for name, curve in lesson.curves.items()}
    about = f"{lesson.title}, {lesson.pairs:,} pairs: best loss on new sentences"
    yield Question(about, best, " nats a token")


def slopes(lengths: list[int], values: PerName) -> dict[str, float]:
    """The power p of the length with which each grows: 0 not at all, 1 in proportion.

    The straight line of least squares through the logarithms.
    """
    xs = [math.log(length) for length in lengths]
    mean_x = sum(xs) / len(xs)
    spread = sum((x - mean_x) ** 2 for x in xs)
    found = {}
    for name, own in values.items():
        ys = [math.log(value) for value in own]
        mean_y = sum(ys) / len(ys)
        pairs = zip(xs, ys, strict=True)
        found[name] = sum((x - mean_x) * (y - mean_y) for x, y in pairs) / spread
    return found


def left_of(distances: list[int], norms: list[float]) -> list[float]:
    """The share of the gradient that is left at each distance, 1 at the first.

    The geometric mean of the neighbours within a tenth of the distance: after training, one word
    may have ten times the influence of the next, wherever it stands.
    """
    places = np.array(distances)
    with np.errstate(divide="ignore"):  # nothing left is -inf, and 0 again in the end
        logs = np.log(np.array(norms) / norms[0])
    near = (logs[np.abs(places - place) <= place / 10].mean() for place in places)
    return [float(np.exp(value)) for value in near]


def reach(distances: list[int], left: list[float], share: float = 0.01) -> int | None:
    """The distance from which on less than `share` is left; None: to the end there is more."""
    last = max((place for place, value in enumerate(left) if value >= share), default=-1)
    return distances[last + 1] if last + 1 < len(distances) else None


def number(value: float) -> str:
    """Three digits that mean something; a tiny one as a power of ten."""
    if value and abs(value) < 1e-3:
        return f"{value:.0e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return (
        f"{value:.1f}" if abs(value) >= 10 else f"{value:.2g}" if abs(value) < 1 else f"{value:.2f}"
    )


def _at(values: PerName, place: int, factor: float = 1.0) -> dict[str, float]:
    return {name: own[place] * factor for name, own in values.items()}
