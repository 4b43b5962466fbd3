"""The picture of a run: loss, perplexity, the task's own score and learning rate."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from clearhead.files import atomic_save
from clearhead.training.task import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Told apart by readers with any colour vision (Okabe and Ito 2008), and by shape.
COLOURS = {"train": "#0072B2", "dev": "#D55E00", "average": "#009E73"}
Corner = Literal["upper right", "lower right", "lower center"]
LEGENDS: dict[str, Corner] = {
    "loss": "upper right",
    "ppl": "upper right",
    "lr": "lower center",
}
OF_A_SCORE: Corner = "lower right"
GREY = "#666666"
Records = Iterable[dict[str, Any]]


def draw_curves(records: Records, path: Path, score: Score) -> None:
    """Draw the records of metrics.jsonl into a PNG file.

    Raises:
        UserError: the file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # no window, on any machine
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    rows = list(records)
    figure = Figure(figsize=(10, 6.4))
    axes = figure.subplots(2, 2, sharex=True).flat
    _panel(axes[0], rows, "loss", "Loss (nats; train: as it is made smaller)", ("train", "dev"))
    _panel(axes[1], rows, "ppl", "Perplexity", ("train", "dev", "average"))
    _panel(axes[2], rows, score.key, score.title, ("dev", "average"))
    _panel(axes[3], rows, "lr", "Learning rate", ("train",))
    if axes[1].lines:
        _logarithmic(axes[1])
    axes[2].set_ylim(bottom=0)
    axes[3].set_ylim(bottom=0)
    axes[3].yaxis.set_major_formatter(StrMethodFormatter("{x:.2g}"))
    axes[0].set_xlim(left=0)
    for panel in (axes[2], axes[3]):
        panel.set_xlabel("step", color=GREY)
    figure.subplots_adjust(left=0.06, right=0.98, bottom=0.08, top=0.95, wspace=0.17, hspace=0.18)
    FigureCanvasAgg(figure)
    atomic_save(path, lambda temporary: figure.savefig(temporary, format="png", dpi=120))


def _panel(
    axes: "Axes", records: list[dict[str, Any]], key: str, title: str, kinds: tuple[str, ...]
) -> None:
    for kind in kinds:
        chosen = [r for r in records if r["kind"] == kind and r.get(key) is not None]
        if chosen:
            steps, values = [r["step"] for r in chosen], [r[key] for r in chosen]
            _curve(axes, kind, steps, values, f"{values[-1]:.4g}")
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=GREY)
    if axes.lines:
        axes.legend(frameon=False, fontsize=9, loc=LEGENDS.get(key, OF_A_SCORE))


def _curve(axes: "Axes", kind: str, steps: list[int], values: list[float], last: str) -> None:
    style: dict[str, Any] = {"color": COLOURS[kind], "label": f"{kind}: {last}"}
    if kind == "train":
        axes.plot(steps, values, linewidth=1.6, **style)
    elif kind == "dev":
        axes.plot(steps, values, marker="o", markersize=4.5, linewidth=1.6, **style)
    else:  # one averaged model at the end: a star upon the curve
        axes.plot(steps, values, marker="*", markersize=13, linestyle="none", zorder=5, **style)


def _logarithmic(axes: "Axes") -> None:
    """Equal factors are equal distances; ticks in plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
