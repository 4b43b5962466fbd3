"""One training step on one batch: ours against everybody's.

What our trainer sets for the whole process (freed memory is kept) serves the peers as well.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from clearhead.compare import (
    clearhead_training,
    didactic,
    eole,
    marian,
    torch_nn,
    x_transformers,
)
from clearhead.compare.peers import EXTRA, chosen, is_installed, left_out
from clearhead.compare.race import Contestant, Laps, fastest, race
from clearhead.compare.results import Duel, Heat, distinct
from clearhead.compare.task import Task


@dataclass(frozen=True)
class Entry:
    """One name of the starting list; `package` is what it needs beyond torch."""

    contestants: Callable[[Task], Iterable[Contestant]]
    team: str
    package: str = "torch"
    install: str = EXTRA


STARTERS = {
    "didactic": Entry(didactic.contestants, didactic.NAME),
    "torch": Entry(torch_nn.contestants, torch_nn.NAME),
    "torch-compiled": Entry(torch_nn.compiled_contestants, torch_nn.NAME),
    "x-transformers": Entry(x_transformers.contestants, x_transformers.NAME, "x_transformers"),
    "marian": Entry(marian.contestants, marian.NAME, "transformers"),
    "eole": Entry(eole.contestants, eole.NAME, "eole", "pip install eole"),
}
# What issue and page of results ask for: how many times as fast as whom.
BEST_OF_TORCH, FLOAT32_OF_TORCH, DIDACTIC = 2.5, 4.0, 4.0


def training_heat(
    task: Task, only: Sequence[str], rounds: int, say: Callable[[str], None] = print
) -> tuple[Heat, list[str]]:
    """The race, and a remark for everyone who was left out.

    Raises:
        UserError: a name in `only` is nobody's.
    """
    names = chosen(only, STARTERS)
    absent = [name for name in names if not is_installed(STARTERS[name].package)]
    remarks = [left_out(n, STARTERS[n].package, STARTERS[n].install) for n in absent]
    starters = list(clearhead_training.contestants(task))
    for name in names:
        if name not in absent:
            starters.extend(STARTERS[name].contestants(task))
    laps = race(starters, rounds, 2, task.settle, say, run_up=1)
    heat = Heat("One training step", "target tokens/s", laps, distinct(_duels(laps)))
    return heat, remarks


def _duels(laps: Laps) -> Iterator[Duel]:
    """Our fastest against each team's fastest, and like against like."""
    ours = fastest(laps, clearhead_training.NAME)
    assert ours is not None
    bars = {torch_nn.NAME: BEST_OF_TORCH, didactic.NAME: DIDACTIC}
    for team in dict.fromkeys(entry.team for entry in STARTERS.values()):
        if theirs := fastest(laps, team):
            yield Duel(ours, theirs, bars.get(team))
    plain, own_plain = f"{torch_nn.NAME}, float32", f"{clearhead_training.NAME}, float32"
    if plain in laps:
        yield Duel(ours, plain, FLOAT32_OF_TORCH)
        yield Duel(own_plain, plain)
