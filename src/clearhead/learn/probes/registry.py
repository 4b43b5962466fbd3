"""The registry of probes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clearhead.learn.run import Run

Case = Mapping[str, int]


@dataclass(frozen=True)
class Probe:
    """A function that records what it sees of an answer, and the sizes that it is run on."""

    run: Callable[[Run], None]
    cases: tuple[Case, ...]


PROBES: dict[str, Probe] = {}


def probe(*cases: Case) -> Callable[[Callable[[Run], None]], Callable[[Run], None]]:
    """Register a probe under its function's name."""

    def register(function: Callable[[Run], None]) -> Callable[[Run], None]:
        PROBES[function.__name__] = Probe(function, cases or ({},))
        return function

    return register
