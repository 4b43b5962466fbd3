"""One picture an experiment, all in the project's style; an entrant keeps colour and dash."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from clearhead.compare.rnn.findings import left_of
from clearhead.compare.rnn.numbers import Gradients, Lesson, Numbers, PerName, Recall, Wall, Writing
from clearhead.compare.rnn.recall import DONE
from clearhead.explain.pictures import Picture
from clearhead.explain.pictures.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RULES,
    in_style,
    plain_log_ticks,
    quiet_grid,
)

SMALLEST = 1e-18  # of a gradient that is drawn, beside the last word's
# Colour for the layers, a dash and another mark for attention.
LOOKS = {
    "Transformer": (BLUE, "-", "o"),
    "LSTM": (ORANGE, "-", "s"),
    "GRU": (GREEN, "-", "^"),
    "LSTM + attention": (ORANGE, "--", "s"),
    "GRU + attention": (GREEN, "--", "^"),
}


@dataclass(frozen=True)
class Panel:
    """A line for each entrant."""

    xs: dict[str, list[float]]
    ys: PerName
    labels: tuple[str, str]
    title: str
    log: tuple[bool, bool] = (True, True)
    marks: bool = True


def pictures(found: Numbers) -> Iterator[tuple[str, Picture]]:
    """File names without ending, and what they show."""
    yield "wall", wall_picture(found.wall)
    yield "gradients", gradient_picture(found.gradients)
    yield "recall", recall_picture(found.recall)
    for count, lesson in enumerate(found.lessons, 1):
        yield f"lesson_{count}", lesson_picture(lesson)
    yield "writing", writing_picture(found.writing)


def wall_picture(wall: Wall) -> Picture:
    """Time and memory of a step against the length of its sentences."""
    xs = _shared(wall.lengths, wall.seconds)
    milliseconds = {name: [1e3 * value for value in own] for name, own in wall.seconds.items()}
    label = f"tokens a sentence, {wall.tokens:,} a batch"
    return draw(
        [
            Panel(xs, milliseconds, (label, "ms a training step"), "Time of a step"),
            Panel(xs, wall.megabytes, (label, "MB"), "Memory kept for the way back"),
        ]
    )


def gradient_picture(gradients: Gradients) -> Picture:
    """What is left of the gradient, by distance: fresh models, and trained ones beside them."""
    panels = []
    for title, norms in (("Fresh", gradients.norms), ("After training", gradients.trained)):
        if norms:
            distances = gradients.distances
            relative = {n: list(map(_shown, left_of(distances, own))) for n, own in norms.items()}
            xs = _shared(distances, norms)
            labels = "words back in the source", "norm of dy / dx, 1 at the last word"
            panels.append(Panel(xs, relative, labels, title, marks=False))
    return draw(panels)


def _shown(share: float) -> float:
    """A line ends where less is left than float32 tells from nothing beside the rest."""
    return share if share > SMALLEST else math.nan


def recall_picture(recall: Recall) -> Picture:
    """How often the planted token was said, and how much was learnt from until then."""
    xs = _shared(recall.distances, recall.accuracy)
    percent = {name: [100 * value for value in own] for name, own in recall.accuracy.items()}
    learnt, title = _learnt(recall), "Learnt from until all was right"
    somebody = any(not math.isnan(value) for own in learnt.values() for value in own)
    panels = [
        Panel(xs, percent, ("tokens back", "right, %"), "Recall", log=(True, False)),
        Panel(xs, learnt, ("tokens back", "sequences"), title, (True, somebody)),
    ]
    picture = draw(panels)
    left = picture.figure.axes[0]
    chance = 100 / recall.symbols
    left.axhline(chance, color=GREY, linestyle=":", linewidth=1)
    left.text(recall.distances[0], chance + 1.5, "chance", color=GREY, fontsize=9)
    left.set_ylim(0, 104)
    return picture


def _learnt(recall: Recall) -> PerName:
    """The sequences of those who did learn it; of the others there is nothing to show."""
    return {
        name: [
            needed if right >= DONE else math.nan
            for needed, right in zip(own, recall.accuracy[name], strict=True)
        ]
        for name, own in recall.sequences.items()
    }


def lesson_picture(lesson: Lesson) -> Picture:
    """BLEU and loss against the minutes of learning."""
    minutes = {name: [point.seconds / 60 for point in own] for name, own in lesson.curves.items()}
    bleu = {name: [point.bleu for point in own] for name, own in lesson.curves.items()}
    loss = {name: [point.loss for point in own] for name, own in lesson.curves.items()}
    title = f"{lesson.title}, {lesson.pairs:,} pairs"
    label, flat = "minutes of learning", (False, False)
    picture = draw(
        [
            Panel(minutes, bleu, (label, "BLEU, greedy"), title, flat),
            Panel(minutes, loss, (label, "nats a token"), "Loss on new sentences", flat),
        ]
    )
    for axes in picture.figure.axes:
        axes.set_xlim(left=0)
    picture.figure.axes[0].set_ylim(bottom=0)
    return picture


def writing_picture(writing: Writing) -> Picture:
    """Time of a token and memory carried, against the length of what is written."""
    xs = _shared(writing.lengths, writing.microseconds)
    label = "tokens written"
    return draw(
        [
            Panel(xs, writing.microseconds, (label, "µs a token"), "Time", (True, False)),
            Panel(xs, writing.kilobytes, (label, "kB"), "Memory carried from token to token"),
        ]
    )


@in_style()
def draw(panels: Sequence[Panel]) -> Picture:
    """Panels side by side under one legend."""
    figure = Figure(figsize=(5.1 * len(panels), 4.3))
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _fill(axes, panel)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(5, 3 * len(panels)))
    return Picture(figure, RULES)


def _fill(axes: Axes, panel: Panel) -> None:
    for name, ys in panel.ys.items():
        colour, dash, mark = LOOKS[name]
        shown = mark if panel.marks else ""
        axes.plot(panel.xs[name], ys, dash, color=colour, marker=shown, markersize=4.5, label=name)
    if panel.log[0]:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    if panel.log[1]:
        axes.set_yscale("log")
        plain_log_ticks(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(panel.labels[0])
    axes.set_ylabel(panel.labels[1])
    axes.set_title(panel.title)
    quiet_grid(axes)


def _shared(xs: Sequence[int], values: PerName) -> dict[str, list[float]]:
    return {name: [float(x) for x in xs] for name in values}
