"""Paired timing, robust against a machine whose speed varies.

In each round every candidate runs once; the order alternates between rounds, so that no candidate
always runs after the same other one. Candidates are compared within a round, while the machine is
in one state, and the result is the median of these ratios.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Progress = Callable[[str], None]


class Measurement(NamedTuple):
    """The duration of one run and the work that it did (tokens, sentences, FLOP or bytes)."""

    seconds: float
    work: float

    @property
    def rate(self) -> float:
        """Work per second."""
        return self.work / self.seconds


class Summary(NamedTuple):
    """Median and range over the rounds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Candidate:
    """A named function to be timed; `run` returns the amount of work done."""

    name: str
    run: Callable[[], float]


Measurements = dict[str, list[Measurement]]


def measure(
    candidates: Sequence[Candidate],
    rounds: int,
    warmup: int = 1,
    synchronize: Callable[[], None] = lambda: None,
    progress: Progress = lambda line: None,
    untimed_runs: int = 0,
) -> Measurements:
    """Time every candidate once per round, after `warmup` rounds that do not count.

    `synchronize` waits for asynchronous work, such as that of a GPU. `untimed_runs` runs precede
    each timed one, so that the caches hold the candidate's own data.
    """
    measurements: Measurements = {candidate.name: [] for candidate in candidates}
    for number in range(-warmup, rounds):
        progress(f"round {number + 1} of {rounds}" if number >= 0 else "warming up")
        for candidate in candidates if number % 2 == 0 else reversed(candidates):
            for _ in range(untimed_runs if number >= 0 else 0):
                candidate.run()
            measurement = _time(candidate, synchronize)
            if number >= 0:
                measurements[candidate.name].append(measurement)
    return measurements


def _time(candidate: Candidate, synchronize: Callable[[], None]) -> Measurement:
    synchronize()
    start = time.perf_counter()
    work = candidate.run()
    synchronize()
    return Measurement(time.perf_counter() - start, work)


def ratio(ours: Sequence[Measurement], theirs: Sequence[Measurement]) -> Summary:
    """Our rate divided by theirs, round by round."""
    return summarize([a.rate / b.rate for a, b in zip(ours, theirs, strict=True)])


def summarize(values: Sequence[float]) -> Summary:
    """Median and range of the values."""
    return Summary(statistics.median(values), min(values), max(values))


def median_rate(measurements: Sequence[Measurement]) -> float:
    """Work per second in the median round."""
    return statistics.median(measurement.rate for measurement in measurements)


def fastest(measurements: Mapping[str, Sequence[Measurement]], prefix: str) -> str | None:
    """The candidate with the highest median rate among those whose name has this prefix."""
    rates = {n: median_rate(own) for n, own in measurements.items() if n.startswith(prefix)}
    return max(rates, key=rates.__getitem__, default=None)
