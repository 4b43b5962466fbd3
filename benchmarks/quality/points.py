"""Points of BLEU over minutes, their plot, and the time at which a side first reaches a score."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, pairwise
from pathlib import Path

from matplotlib.figure import Figure

from clearhead import plot_style as style
from clearhead.explain.plots import Plot

LINES = ((style.BLUE, "-", "o"), (style.ORANGE, "-", "s"), (style.GREEN, "--", "^"))


@dataclass(frozen=True)
class Point:
    """One evaluation; `seconds` of training, without evaluations."""

    side: str
    step: int
    tokens: int
    seconds: float
    bleu: float


def read_points(path: Path) -> list[Point]:
    """All points of a file; a line that a kill cut short is left out."""
    if not path.exists():
        return []
    points = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            points.append(Point(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return points


def append_point(path: Path, point: Point) -> None:
    """Add a line; a cut line before it is ended first."""
    cut = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(("\n" if cut else "") + json.dumps(asdict(point)) + "\n")


def time_to(points: Sequence[Point], bleu: float) -> float:
    """The seconds until the score was first reached, between two points on a straight line.

    Infinite if it was not reached.
    """
    if points and points[0].bleu >= bleu:
        return points[0].seconds
    for before, after in pairwise(points):
        if after.bleu >= bleu:
            share = (bleu - before.bleu) / (after.bleu - before.bleu)
            return before.seconds + share * (after.seconds - before.seconds)
    return math.inf


@dataclass(frozen=True)
class Ratio:
    """The time of the better other side over ours; infinite times were not reached.

    `other_seconds` is the longest training of the other sides, a lower bound if none of them
    reached the score.
    """

    bleu: float
    ours: float
    theirs: float
    other: str
    other_seconds: float

    def in_words(self) -> str:
        """One row of the table."""
        ours, theirs = _minutes(self.ours), _minutes(self.theirs)
        if math.isinf(self.ours):
            ratio = "not reached"
        elif math.isinf(self.theirs):
            ratio = f"more than {self.other_seconds / self.ours:.2f}"
        else:
            ratio = f"{self.theirs / self.ours:.2f}"
        return f"| {self.bleu:g} | {ours} | {theirs} | {self.other} | {ratio} |"


def ratio(points: dict[str, list[Point]], ours: str, bleu: float) -> Ratio:
    """How many times as long the better of the other sides took."""
    others = {name: own for name, own in points.items() if name != ours and own}
    times = {name: time_to(own, bleu) for name, own in others.items()}
    best = min(times, key=lambda name: (times[name], -others[name][-1].bleu), default="")
    longest = max((own[-1].seconds for own in others.values()), default=0.0)
    mine = time_to(points.get(ours, []), bleu)
    return Ratio(bleu, mine, times.get(best, math.inf), best, longest)


def _minutes(seconds: float) -> str:
    return "not reached" if math.isinf(seconds) else f"{seconds / 60:.1f}"


@style.in_style()
def plot_points(points: dict[str, list[Point]], targets: tuple[float, ...], title: str) -> Plot:
    """A line for each side, and a dotted one for each target."""
    figure = Figure(figsize=(6.8, 4.6))
    axes = figure.subplots()
    for (name, own), (colour, line, marker) in zip(points.items(), cycle(LINES), strict=False):
        minutes = [point.seconds / 60 for point in own]
        bleu = [point.bleu for point in own]
        axes.plot(minutes, bleu, line, color=colour, marker=marker, markersize=4.5, label=name)
    for target in targets:
        axes.axhline(target, color=style.GREY, linestyle=":", linewidth=1)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("minutes of training, without evaluations")
    axes.set_ylabel("BLEU of the dev set, greedy")
    axes.set_title(title)
    style.quiet_grid(axes)
    figure.legend(loc="outside lower center", ncols=2)
    return Plot(figure)
