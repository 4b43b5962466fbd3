"""What the trainer asks of a task: everything else in this room is the same for all of them.

A task is made from its recipe, its run's directory, in which it keeps what a resumption
needs, and the ground it stands on. `clearhead.training.tasks` lists those that we have.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from torch import nn

from clearhead.training.objective import Losses
from clearhead.training.precision import Ground
from clearhead.training.run_directory import RunDirectory

Objective = Callable[[Any, Any], Losses]  # of a model and a batch


class Batches(Protocol):
    """An endless walk through the data that can be taken up at any batch."""

    @property
    def epoch(self) -> int:
        """How often all of it was seen."""

    def __next__(self) -> Any: ...

    def state(self) -> dict[str, int]:
        """The position before the next batch."""

    def restore(self, state: dict[str, int]) -> None:
        """Go to a position from `state`; the following batches are the same, bit by bit."""


class Verdict(NamedTuple):
    """One evaluation on texts that are not learned from."""

    loss: float  # nats a token, without smoothing
    size: int  # how many texts were judged
    scores: dict[str, float]  # by their keys in the records
    samples: list[str]  # what the model does with some texts, as it is shown


class Score(NamedTuple):
    """The number that is told beside the perplexity."""

    key: str  # in `Verdict.scores` and in the records
    label: str  # in the log
    title: str  # of its curve
    digits: int = 2


class Words(NamedTuple):
    """How a task is spoken of: in the log, in the pictures, in the model's README.md."""

    title: str  # of the README.md
    about: str  # what the model is, and how it is used
    learned: str  # what a loss is of, and counts
    judged: str  # what an evaluation's size counts
    command: str  # that uses a model; its directory follows
    score: Score


class Task(Protocol):
    """What a run learns.

    `model` has a `config` with a `d_model`. Parameters that need no gradient are frozen: the
    optimiser does not hold them and a checkpoint neither, so a task that is resumed reads them
    from the model directory `run.last`.
    """

    @property
    def model(self) -> nn.Module:
        """What learns."""

    @property
    def batches(self) -> Batches:
        """What it learns from."""

    @property
    def words(self) -> Words:
        """How it is spoken of."""

    def losses(self, model: Any, batch: Any) -> Losses:
        """Of one batch; sums, which the trainer divides by their tokens."""

    def judge(self, model: Any, samples: int) -> Verdict:
        """How good a model is now; its mode and the random states stay as they were."""

    def save(self, model: Any, directory: Path) -> None:
        """Weights in float32, config.json and the tokenizer's files: what users load."""

    def blank(self) -> nn.Module:
        """A model of the same shape, whose weights will be overwritten."""

    def introduction(self) -> str:
        """What is learned from, for the log."""


class Kind(Protocol):
    """A class of tasks."""

    def __call__(self, recipe: Any, run: RunDirectory, ground: Ground) -> Task:
        """Prepare all that training needs, or take up what an earlier start prepared."""

    def check(self, recipe: Any) -> None:
        """Refuse what can be refused before a run directory is touched."""
