"""One plot per experiment; each model has the same colour and line style in all of them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from clearhead import plot_style as style
from clearhead.compare.rnn import findings
from clearhead.explain.plots import Plot

SMALLEST = 1e-18  # the smallest share of a gradient that is drawn
# A colour for the layers, another line style and marker for attention.
STYLES = {
    "Transformer": (style.BLUE, "-", "o"),
    "LSTM": (style.ORANGE, "-", "s"),
    "GRU": (style.GREEN, "-", "^"),
    "LSTM + attention": (style.ORANGE, "--", "s"),
    "GRU + attention": (style.GREEN, "--", "^"),
}


@dataclass(frozen=True)
class Panel:
    """One line per model."""

    xs: dict[str, list[float]]
    ys: findings.PerModel
    labels: tuple[str, str]
    title: str
    log: tuple[bool, bool] = (True, True)
    markers: bool = True


def plots(found: findings.StudyResults) -> Iterator[tuple[str, Plot]]:
    """File names without extension, and their plots."""
    yield "training_step", step_plot(found.training_step)
    yield "gradients", gradient_plot(found.gradients)
    yield "recall", recall_plot(found.recall)
    for number, curves in enumerate(found.translation, 1):
        yield f"translation_{number}", translation_plot(curves)
    yield "decoding", decoding_plot(found.decoding)


def step_plot(cost: findings.StepCost) -> Plot:
    """Time and memory of a training step by sentence length."""
    xs = _common(cost.lengths, cost.seconds)
    milliseconds = _scaled(cost.seconds, 1e3)
    label = f"sentence length (tokens), {cost.tokens:,} tokens per batch"
    return draw(
        Panel(xs, milliseconds, (label, "time (ms)"), "Training step"),
        Panel(xs, cost.megabytes, (label, "memory (MB)"), "Kept for the backward pass"),
    )


def gradient_plot(gradients: findings.Gradients) -> Plot:
    """The share of the gradient that is left, by distance, before and after training."""
    panels = []
    for title, norms in (("Untrained", gradients.untrained), ("Trained", gradients.trained)):
        if norms:
            distances = gradients.distances
            # A line ends where float64 cannot tell the share from rounding errors.
            shares = {
                name: [x if x > SMALLEST else math.nan for x in findings.remaining(distances, own)]
                for name, own in norms.items()
            }
            labels = "distance (source tokens)", "gradient norm, relative to distance 1"
            xs = _common(distances, norms)
            panels.append(Panel(xs, shares, labels, title, markers=False))
    return draw(*panels)


def recall_plot(recall: findings.Recall) -> Plot:
    """Accuracy, and training sequences until the task was solved."""
    xs = _common(recall.distances, recall.accuracy)
    solved = {
        name: [
            count if accuracy >= findings.SOLVED else math.nan
            for count, accuracy in zip(own, recall.accuracy[name], strict=True)
        ]
        for name, own in recall.sequences.items()
    }
    any_solved = any(not math.isnan(value) for own in solved.values() for value in own)
    percent, label = _scaled(recall.accuracy, 100), "distance (tokens)"
    plot = draw(
        Panel(xs, percent, (label, "accuracy (%)"), "Recall", log=(True, False)),
        Panel(xs, solved, (label, "training sequences"), "Until solved", (True, any_solved)),
    )
    left = plot.figure.axes[0]
    chance = 100 / recall.symbols
    left.axhline(chance, color=style.GREY, linestyle=":", linewidth=1)
    left.text(recall.distances[0], chance + 1.5, "chance", color=style.GREY, fontsize=9)
    left.set_ylim(0, 104)
    return plot


def translation_plot(found: findings.TranslationCurves) -> Plot:
    """BLEU and loss by training time."""
    curves = found.curves
    minutes = {name: [point.seconds / 60 for point in own] for name, own in curves.items()}
    bleu = {name: [point.bleu for point in own] for name, own in curves.items()}
    loss = {name: [point.loss for point in own] for name, own in curves.items()}
    title, label, linear = f"{found.title}, {found.pairs:,} pairs", "training time (min)", False
    plot = draw(
        Panel(minutes, bleu, (label, "BLEU, greedy"), title, (linear, linear)),
        Panel(minutes, loss, (label, "nats per token"), "Development loss", (linear, linear)),
    )
    for axes in plot.figure.axes:
        axes.set_xlim(left=0)
    plot.figure.axes[0].set_ylim(bottom=0)
    return plot


def decoding_plot(cost: findings.DecodingCost) -> Plot:
    """Time per token and memory of the state, by length of the translation."""
    xs, label = _common(cost.lengths, cost.microseconds), "decoded tokens"
    time_labels, memory_labels = (label, "time per token (µs)"), (label, "memory (kB)")
    return draw(
        Panel(xs, cost.microseconds, time_labels, "Decoding", (True, False)),
        Panel(xs, cost.kilobytes, memory_labels, "State between tokens"),
    )


@style.in_style()
def draw(*panels: Panel) -> Plot:
    """Panels in one row above a common legend."""
    figure = Figure(figsize=(5.1 * len(panels), 4.3))
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _draw_panel(axes, panel)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(5, 3 * len(panels)))
    return Plot(figure)


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for name, ys in panel.ys.items():
        colour, line, marker = STYLES[name]
        shown = marker if panel.markers else ""
        axes.plot(panel.xs[name], ys, line, color=colour, marker=shown, markersize=4.5, label=name)
    if panel.log[0]:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    if panel.log[1]:
        axes.set_yscale("log")
        style.plain_log_ticks(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(panel.labels[0])
    axes.set_ylabel(panel.labels[1])
    axes.set_title(panel.title)
    style.quiet_grid(axes)


def _common(xs: Sequence[int], values: findings.PerModel) -> dict[str, list[float]]:
    return {name: [float(x) for x in xs] for name in values}


def _scaled(values: findings.PerModel, factor: float) -> findings.PerModel:
    return {name: [factor * value for value in own] for name, own in values.items()}
