"""The sides train alternately, each for a slice of minutes, and are evaluated after it.

A slice ends with a checkpoint, then the evaluation, then a line of `points.jsonl`: a contest that
is stopped at any moment continues with the slice that was not finished.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.quality.points import Point, append_point, read_points
from benchmarks.quality.sides import (
    ClearheadSide,
    GreedyBleu,
    SharedTask,
    Side,
    TorchSide,
)
from clearhead.models import Transformer
from clearhead.training.checkpoint import FILE, random_states, restore_random_states

POINTS = "points.jsonl"


@dataclass(frozen=True)
class Limits:
    """When a side is evaluated, and when it has trained enough; minutes of its own training.

    After `choose_after` minutes only the better of the torch sides continues.
    """

    slice_minutes: float
    minutes: float
    choose_after: float
    targets: tuple[float, ...]


@dataclass
class Runner:
    """A side with its random state, its directory and its points."""

    side: Side
    directory: Path
    random: dict[str, Tensor]
    points: list[Point] = field(default_factory=list)

    @property
    def minutes(self) -> float:
        """Of training."""
        return self.side.progress.seconds / 60

    @property
    def evaluated(self) -> bool:
        """Whether the newest weights have a point."""
        return bool(self.points) and self.points[-1].step == self.side.progress.step

    @contextmanager
    def own_random(self) -> Iterator[None]:
        """Within, torch draws from the random states of this side."""
        with forked():
            restore_random_states(dict(self.random))
            yield
            self.random = random_states()


def forked() -> AbstractContextManager[None]:
    """Within, random numbers may be drawn; afterwards the states are as before."""
    return torch.random.fork_rng(devices=range(torch.cuda.device_count()))


class Contest:
    """All sides, from the directory's last checkpoints or from the same fresh weights.

    `rates` are the peak learning rates of the torch sides, reached after `warmup` steps.
    """

    def __init__(
        self,
        task: SharedTask,
        directory: Path,
        rates: Sequence[float],
        warmup: int,
        limits: Limits,
        say: Callable[[str], None] = print,
    ) -> None:
        self.task, self.directory, self.limits, self.say = task, directory, limits, say
        self.bleu = GreedyBleu(task)
        torch.manual_seed(task.recipe.run.seed)
        fresh = Transformer.from_config(task.config)
        torches = [TorchSide(task, fresh, rate, warmup) for rate in rates]
        # Last, because the trainer makes the model its own.
        sides: list[Side] = [ClearheadSide(task, fresh), *torches]
        points = read_points(directory / POINTS)
        self.runners = [self._runner(side, number, points) for number, side in enumerate(sides)]

    def run(self) -> dict[str, list[Point]]:
        """Round after round until every side has ended; the points by side."""
        while self.round():
            pass
        return self.points

    def round(self) -> bool:
        """One slice of every side that has not ended; False if all have."""
        continuing = [runner for runner in self.runners if not self._done(runner)]
        for runner in continuing:
            self._slice(runner)
        return bool(continuing)

    @property
    def points(self) -> dict[str, list[Point]]:
        """Of every side."""
        return {runner.side.name: runner.points for runner in self.runners}

    def _runner(self, side: Side, number: int, points: list[Point]) -> Runner:
        directory = self.directory / f"side_{number}"
        runner = Runner(side, directory, random_states())
        if (directory / FILE).exists():
            with forked():
                side.restore(directory)
                runner.random = random_states()
        reached = side.progress.step
        runner.points = [p for p in points if p.side == side.name and p.step <= reached]
        return runner

    def _slice(self, runner: Runner) -> None:
        side, steps = runner.side, self._most_steps(runner)
        if runner.evaluated or not side.progress.step:
            end = side.progress.seconds + 60 * self.limits.slice_minutes
            with runner.own_random():
                while side.progress.seconds < end and side.progress.step < steps:
                    side.step()
                side.save(runner.directory)
        p = side.progress
        point = Point(side.name, p.step, p.tokens, p.seconds, self.bleu(side))
        runner.points.append(point)
        append_point(self.directory / POINTS, point)
        self.say(
            f"{side.name}: {p.seconds / 60:.1f} minutes, step {p.step:,}, BLEU {point.bleu:.2f}"
        )

    def _most_steps(self, runner: Runner) -> float:
        """The recipe's schedule ends; that of torch.nn does not."""
        ours = isinstance(runner.side, ClearheadSide)
        return self.task.recipe.run.steps if ours else float("inf")

    def _done(self, runner: Runner) -> bool:
        if not runner.evaluated:
            return False
        reached = max(point.bleu for point in runner.points) >= max(self.limits.targets)
        ended = runner.side.progress.step >= self._most_steps(runner)
        return reached or ended or runner.minutes >= self.limits.minutes or self._dropped(runner)

    def _dropped(self, runner: Runner) -> bool:
        """Whether another learning rate had the higher BLEU when it was time to choose."""
        mine = self._at_choice(runner)
        others = [
            found
            for other in self.runners
            if isinstance(other.side, TorchSide) and other is not runner
            if (found := self._at_choice(other)) is not None
        ]
        if not isinstance(runner.side, TorchSide) or mine is None:
            return False
        return any(found > mine for found in others)

    def _at_choice(self, runner: Runner) -> float | None:
        """BLEU at the first evaluation after `choose_after` minutes."""
        after = 60 * self.limits.choose_after
        return next((p.bleu for p in runner.points if p.seconds >= after), None)
