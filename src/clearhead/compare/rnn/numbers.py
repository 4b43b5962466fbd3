"""All that is measured, as plain records: what the pictures, the table and the JSON show."""

from dataclasses import dataclass, field

from clearhead.compare.hardware import Machine
from clearhead.compare.rnn.entrants import Size

PerName = dict[str, list[float]]  # of each entrant a number for each length or distance


@dataclass(frozen=True)
class Wall:
    """A training step on always the same number of tokens, cut into longer sentences."""

    tokens: int
    lengths: list[int]
    seconds: PerName  # the median round
    megabytes: PerName  # kept for the backward pass


@dataclass(frozen=True)
class Gradients:
    """How strongly the first word written hangs on a source word so many places back."""

    distances: list[int]
    norms: PerName  # of fresh models
    trained: PerName = field(default_factory=dict)  # after the translation lesson


@dataclass(frozen=True)
class Recall:
    """Which of `symbols` was planted so many tokens back? Chance is 1 / symbols."""

    symbols: int
    most: list[int]  # sequences that each entrant may learn from, at each distance
    distances: list[int]
    accuracy: PerName
    sequences: PerName  # learnt from before all was right, or before giving up


@dataclass(frozen=True)
class Point:
    """One look at a model in training."""

    seconds: float  # of learning; judging is not counted
    tokens: int
    loss: float  # nats a target token, on sentences it does not learn from
    bleu: float


@dataclass(frozen=True)
class Lesson:
    """Everybody learns from the same corpus for the same time."""

    title: str
    pairs: int
    seconds: float
    curves: dict[str, list[Point]]


@dataclass(frozen=True)
class Writing:
    """Translating one sentence: what a token costs, and what must be remembered."""

    lengths: list[int]
    microseconds: PerName  # a token, over a whole translation of that length
    kilobytes: PerName  # carried after so many tokens


@dataclass(frozen=True)
class Numbers:
    """The whole study."""

    setting: str
    machine: Machine
    sizes: dict[str, Size]
    wall: Wall
    gradients: Gradients
    recall: Recall
    lessons: list[Lesson]
    writing: Writing
