"""The interface of a training task; everything else in this package is the same for all tasks.

A task is made from its recipe, its run directory, in which it keeps what a resumption needs,
and the device settings. `clearhead.training.tasks` lists the tasks.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from torch import nn

from clearhead.training.device_settings import DeviceSettings
from clearhead.training.objective import Losses
from clearhead.training.run_directory import RunDirectory

Objective = Callable[[Any, Any], Losses]  # of a model and a batch


class Batches(Protocol):
    """An endless iterator over the training data that can be restored to any position."""

    @property
    def epoch(self) -> int:
        """The number of complete passes over the data."""

    def __next__(self) -> Any: ...

    def state(self) -> dict[str, int]:
        """The position before the next batch."""

    def restore(self, state: dict[str, int]) -> None:
        """Go to a position from `state`; the batches after it are bit-identical."""


class ValidationResult(NamedTuple):
    """The metrics of a model on the validation data."""

    loss: float  # nats per token, without smoothing
    size: int  # number of texts
    scores: dict[str, float]  # by their keys in metrics.jsonl
    samples: list[str]  # outputs of the model, for the log


class Metric(NamedTuple):
    """The metric that the log and the curves show in addition to the perplexity."""

    key: str  # in `ValidationResult.scores` and in metrics.jsonl
    label: str  # in the log
    title: str  # of its curve
    digits: int = 2
    numbers: bool = False  # the loss is a squared error, which has no perplexity
    per: str = "token"  # of what the loss is the mean


class TaskDescription(NamedTuple):
    """The texts about a task in the log, in curves.png and in the model's README.md."""

    title: str  # of the README.md
    about: str  # what the model is, and how to use it
    unit: str  # what the loss is averaged over
    dev_unit: str  # what `ValidationResult.size` counts
    command: str  # that uses the model; its directory follows
    metric: Metric


class Task(Protocol):
    """A model, its training data, its loss and its validation.

    `model` has a `config` with a `d_model`. Parameters without `requires_grad` are frozen:
    neither the optimizer nor a checkpoint holds them, so a task that is resumed reads them
    from files in the run directory.
    """

    def __init__(self, recipe: Any, run: RunDirectory, settings: DeviceSettings) -> None:
        """Prepare data and model, or reuse what an earlier start prepared."""

    @classmethod
    def check(cls, recipe: Any) -> None:
        """Refuse an invalid recipe before the run directory is created."""

    @property
    def model(self) -> nn.Module:
        """The model that is trained."""

    @property
    def batches(self) -> Batches:
        """The training data."""

    @property
    def description(self) -> TaskDescription:
        """The texts about the task."""

    @property
    def predicts_tokens(self) -> bool:
        """Whether the loss is over a vocabulary: the engine's `TokenLoss`."""

    def losses(self, model: Any, batch: Any) -> Losses:
        """The summed losses of one batch; the trainer divides them by the number of tokens."""

    def validate(self, model: Any, samples: int) -> ValidationResult:
        """Evaluate a model; its mode and the random states stay as they were."""

    def save(self, model: Any, directory: Path) -> None:
        """Write a model directory: float32 weights, config.json and the tokenizer's files."""

    def new_model(self) -> nn.Module:
        """A model of the same shape, whose weights will be overwritten."""

    def summary(self) -> str:
        """The training data in one line, for the log."""
