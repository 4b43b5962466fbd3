"""The measured values of the study, and the conclusions that are derived from them.

Each question has one value per model. The Transformer has the better value, or the best RNN, or
the difference is too small; the report sorts the questions accordingly.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from clearhead.compare.results import format_number
from clearhead.compare.rnn.translator import TRANSFORMER, Size
from clearhead.compare.timing import Machine

PerModel = dict[str, list[float]]  # for each model one value per length or distance
SOLVED = 0.99  # accuracy at which a recall task counts as learned
CLOSE = 0.05  # relative differences below this are ignored
RECALL_MARGIN = 6.0  # percent; two standard deviations of 256 guesses
BLEU_MARGIN = 1.0
TIE = "too close to call"


@dataclass(frozen=True)
class StepCost:
    """A training step on a constant number of tokens, in sentences of increasing length."""

    tokens: int
    lengths: list[int]
    seconds: PerModel  # the median round
    megabytes: PerModel  # kept for the backward pass


@dataclass(frozen=True)
class Gradients:
    """Norms of the gradient of the first output in the source token at each distance."""

    distances: list[int]
    untrained: PerModel
    trained: PerModel = field(default_factory=dict)  # after the translation experiment


@dataclass(frozen=True)
class Recall:
    """Accuracy in recalling one of `symbols` tokens; chance is 1 / symbols."""

    symbols: int
    limits: list[int]  # training sequences available at each distance
    distances: list[int]
    accuracy: PerModel
    sequences: PerModel  # used until the task was solved or training ended


@dataclass(frozen=True)
class CurvePoint:
    """One evaluation during training."""

    seconds: float  # of training, without evaluation
    tokens: int
    loss: float  # nats per target token of the development set
    bleu: float


@dataclass(frozen=True)
class TranslationCurves:
    """Learning curves on one corpus, all of the same duration."""

    title: str
    pairs: int
    seconds: float
    curves: dict[str, list[CurvePoint]]


@dataclass(frozen=True)
class DecodingCost:
    """Decoding one sentence: time per token, and memory of the state."""

    lengths: list[int]
    microseconds: PerModel  # per token, over a whole translation of that length
    kilobytes: PerModel  # after so many tokens


@dataclass(frozen=True)
class StudyResults:
    """All measurements of the study."""

    setting: str
    machine: Machine
    sizes: dict[str, Size]
    training_step: StepCost
    gradients: Gradients
    recall: Recall
    translation: list[TranslationCurves]
    decoding: DecodingCost


@dataclass(frozen=True)
class Question:
    """A value for every model, followed by `unit`."""

    about: str
    values: dict[str, float]
    unit: str
    less_is_better: bool = True
    margin: float = 0.0  # differences up to this may be due to chance

    @property
    def best_rnn(self) -> str:
        """The name of the RNN with the best value."""
        rnns = {name: value for name, value in self.values.items() if name != TRANSFORMER}
        return (min if self.less_is_better else max)(rnns, key=rnns.__getitem__)

    @property
    def winner(self) -> str:
        """TRANSFORMER, the name of an RNN, or TIE."""
        ours, theirs = self.values[TRANSFORMER], self.values[self.best_rnn]
        if abs(ours - theirs) <= max(self.margin, CLOSE * max(abs(ours), abs(theirs))):
            return TIE
        return TRANSFORMER if (ours < theirs) == self.less_is_better else self.best_rnn

    def sentence(self) -> str:
        """Both values and their ratio."""
        ours, theirs = self.values[TRANSFORMER], self.values[self.best_rnn]
        low, high = sorted((ours, theirs))
        remark = ""
        if self.winner == TIE and high - low > CLOSE * high:
            margin = format_number(self.margin)
            remark = f"; differences of up to {margin}{self.unit} may be due to chance"
        elif self.winner != TIE and low > 0:
            remark = f", a factor of {format_number(high / low)}"
        return (
            f"{self.about}: Transformer {format_number(ours)}{self.unit}, "
            f"best RNN ({self.best_rnn}) {format_number(theirs)}{self.unit}{remark}"
        )


def questions(found: StudyResults) -> Iterator[Question]:
    """Every question of the study."""
    step, decoding = found.training_step, found.decoding
    for index in (0, -1):
        about = f"A training step of {step.tokens:,} tokens in sentences of {step.lengths[index]}"
        yield Question(about, _at(step.seconds, index, 1e3), " ms")
    about = f"Memory kept for its backward pass in sentences of {step.lengths[-1]}"
    yield Question(about, _at(step.megabytes, -1), " MB")
    yield from _long_range_questions(found.gradients, found.recall)
    for curves in found.translation:
        yield from _translation_questions(curves)
    about = f"Decoding {decoding.lengths[-1]} tokens"
    yield Question(f"{about}, time per token", _at(decoding.microseconds, -1), " µs")
    yield Question(f"{about}, memory of the state at the end", _at(decoding.kilobytes, -1), " kB")


def _long_range_questions(gradients: Gradients, recall: Recall) -> Iterator[Question]:
    for when, norms in (("", gradients.untrained), (", after training", gradients.trained)):
        if norms:
            about = f"Share of the gradient left {gradients.distances[-1]} tokens back{when}"
            shares = {n: remaining(gradients.distances, own)[-1] for n, own in norms.items()}
            percent = {name: 100 * share for name, share in shares.items()}
            yield Question(about, percent, " %", less_is_better=False)
    for index in (0, -1):
        distance, limit = recall.distances[index], recall.limits[index]
        percent = _at(recall.accuracy, index, 100)
        yield Question(f"Recall of a token {distance} back", percent, " %", False, RECALL_MARGIN)
        # A model that did not solve the task gets the limit, even if its time ran out earlier.
        needed = {
            name: own[index] if recall.accuracy[name][index] >= SOLVED else float(limit)
            for name, own in recall.sequences.items()
        }
        about = f"Sequences until a token {distance} back was recalled ({limit:,}: not solved)"
        yield Question(about, needed, "")


def _translation_questions(found: TranslationCurves) -> Iterator[Question]:
    corpus = f"{found.title}, {found.pairs:,} pairs"
    for index in (0, -1):
        points = {name: curve[index] for name, curve in found.curves.items()}
        seconds = found.seconds if index else points[TRANSFORMER].seconds
        bleu = {name: point.bleu for name, point in points.items()}
        yield Question(f"{corpus}, after {seconds:.0f} s: BLEU", bleu, "", False, BLEU_MARGIN)
    best = {name: min(point.loss for point in curve) for name, curve in found.curves.items()}
    yield Question(f"{corpus}: best loss on the development set", best, " nats per token")


def exponents(lengths: list[int], values: PerModel) -> dict[str, float]:
    """The exponent p of growth with length^p: 0 is constant, 1 proportional.

    Fitted by least squares to the logarithms.
    """
    xs = np.log(lengths)
    return {name: float(np.polyfit(xs, np.log(own), 1)[0]) for name, own in values.items()}


def remaining(distances: list[int], norms: list[float]) -> list[float]:
    """The share of the gradient that is left at each distance, 1 at the first.

    The geometric mean over neighbours within a tenth of the distance, since after training single
    tokens may have ten times the influence of the next one.
    """
    xs = np.array(distances)
    with np.errstate(divide="ignore"):  # log 0 = -inf becomes 0 again
        logs = np.log(np.array(norms) / norms[0])
    return [float(np.exp(logs[np.abs(xs - x) <= x / 10].mean())) for x in xs]


def reach(distances: list[int], shares: list[float], threshold: float = 0.01) -> int | None:
    """The distance from which on the share stays below the threshold; None if it never does."""
    last = max((i for i, share in enumerate(shares) if share >= threshold), default=-1)
    return distances[last + 1] if last + 1 < len(distances) else None


def _at(values: PerModel, index: int, factor: float = 1.0) -> dict[str, float]:
    return {name: own[index] * factor for name, own in values.items()}
