"""curves.png of a run: loss, perplexity, the task's metric and the learning rate."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.files import atomic_write
from clearhead.training.task import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Records = Iterable[dict[str, Any]]
TRAIN, DEV, AVERAGE = "train", "dev", "average"
LABELS = {TRAIN: "training", DEV: "validation", AVERAGE: "average of snapshots"}


def draw_curves(records: Records, path: Path, metric: Metric) -> None:
    """Draw the records of metrics.jsonl into a PNG file.

    Raises:
        UserError: the file cannot be written.
    """
    # Here, because most imports of this package draw nothing.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from clearhead.plot_style import in_style, plain_log_ticks

    rows = list(records)
    with in_style():
        figure = Figure(figsize=(10, 6.4))
        loss, ppl, score, lr = figure.subplots(2, 2, sharex=True).flat
        _panel(loss, rows, "loss", "Loss (training loss includes label smoothing)", (TRAIN, DEV))
        _panel(ppl, rows, "ppl", "Perplexity", (TRAIN, DEV, AVERAGE))
        _panel(score, rows, metric.key, metric.title, (DEV, AVERAGE))
        _panel(lr, rows, "lr", "Learning rate", (TRAIN,))
        loss.set_ylabel("nats per token")
        if ppl.lines:
            ppl.set_yscale("log")
            plain_log_ticks(ppl.yaxis)
        for axes in (score, lr):
            axes.set_ylim(bottom=0)
            axes.set_xlabel("step")
            axes.xaxis.set_major_formatter("{x:,.0f}")
        lr.yaxis.set_major_formatter("{x:g}")
        loss.set_xlim(left=0)
        FigureCanvasAgg(figure)
        # Drawn in memory: a kill while drawing must not leave an incomplete file.
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=120)
    atomic_write(path, content.getvalue())


def _panel(
    axes: "Axes", records: list[dict[str, Any]], key: str, title: str, kinds: tuple[str, ...]
) -> None:
    from clearhead.plot_style import BLUE, GREEN, ORANGE, quiet_grid

    styles: dict[str, dict[str, Any]] = {
        TRAIN: {"color": BLUE},
        DEV: {"color": ORANGE, "marker": "o", "markersize": 4.5},
        # One point at the end of the run.
        AVERAGE: {"color": GREEN, "marker": "*", "markersize": 13, "linestyle": "", "zorder": 5},
    }
    for kind in kinds:
        chosen = [r for r in records if r["kind"] == kind and r.get(key) is not None]
        if chosen:
            steps, values = [r["step"] for r in chosen], [r[key] for r in chosen]
            axes.plot(steps, values, label=f"{LABELS[kind]}: {values[-1]:.4g}", **styles[kind])
    axes.set_title(title)
    quiet_grid(axes)
    if axes.lines:
        axes.legend(fontsize=9)
