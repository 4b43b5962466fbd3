"""A race that a noisy machine cannot bend: paired, alternating, warm-up dropped.

Every round lets each contestant run once, in the order given, the next round in
the reverse order, so that nobody always follows the same neighbour. Contestants
are compared within a round, when the machine was in one mood, and the median of
these ratios is the result.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Lap(NamedTuple):
    """One pass: how long it took, and how much work (tokens, sentences, FLOP, bytes) it did."""

    seconds: float
    work: float

    @property
    def rate(self) -> float:
        """Work a second."""
        return self.work / self.seconds


class Spread(NamedTuple):
    """What is said of several rounds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Contestant:
    """A name, and one pass of its work; `run` returns how much was done."""

    name: str
    run: Callable[[], float]


Laps = dict[str, list[Lap]]


def race(
    contestants: Sequence[Contestant],
    rounds: int,
    warmup: int = 1,
    settle: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda line: None,
    run_up: int = 0,
) -> Laps:
    """The laps of every contestant, one a round; `warmup` rounds before them are forgotten.

    `settle` waits for what a pass has only begun (a GPU computes behind our back);
    `say` hears which round has begun. Before every lap that counts come `run_up` passes that do
    not: what goes round a loop finds its own numbers in the cache, not its neighbour's.
    """
    laps: Laps = {contestant.name: [] for contestant in contestants}
    for number in range(-warmup, rounds):
        say(f"round {number + 1} of {rounds}" if number >= 0 else "warming up")
        for contestant in contestants if number % 2 == 0 else reversed(contestants):
            for _ in range(run_up if number >= 0 else 0):
                contestant.run()
            lap = _lap(contestant, settle)
            if number >= 0:
                laps[contestant.name].append(lap)
    return laps


def _lap(contestant: Contestant, settle: Callable[[], None]) -> Lap:
    settle()
    began = time.perf_counter()
    work = contestant.run()
    settle()
    return Lap(time.perf_counter() - began, work)


def ratio(ours: Sequence[Lap], theirs: Sequence[Lap]) -> Spread:
    """How many times as fast as theirs, round by round."""
    return spread([a.rate / b.rate for a, b in zip(ours, theirs, strict=True)])


def spread(values: Sequence[float]) -> Spread:
    """Median and range."""
    return Spread(statistics.median(values), min(values), max(values))


def fastest(laps: Mapping[str, Sequence[Lap]], prefix: str) -> str | None:
    """Whose name begins so and who was fastest in the median; None if nobody is called so."""
    rates = {
        name: statistics.median(lap.rate for lap in own)
        for name, own in laps.items()
        if name.startswith(prefix)
    }
    return max(rates, key=rates.__getitem__, default=None)
