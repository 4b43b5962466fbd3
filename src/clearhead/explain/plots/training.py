"""Plots of training: the losses of runs, and learning-rate schedules."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
from matplotlib.figure import Figure

from clearhead.errors import UserError
from clearhead.explain.plots.plot import Plot
from clearhead.plot_style import CATEGORIES, GREY, PALE, in_style, quiet_grid
from clearhead.training.metrics import read_metrics
from clearhead.training.recipe import Shape, make_schedule

METRICS = "metrics.jsonl"
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_SCHEDULES = {
    "paper": "paper (Noam): equation 3",
    "inverse_sqrt": "inverse square root",
    "cosine": "half a cosine to zero",
    "trapezoid": "trapezoid: constant, then linear to zero",
    "constant": "constant after the warm-up",
}


@in_style()
def loss_curves(runs: Mapping[str, str | Path]) -> Plot:
    """Training loss (lines) and validation loss (dots) of run directories, by their names.

    Raises:
        UserError: a directory holds no losses.
    """
    figure = Figure(figsize=(9, 4.6))
    axes = figure.subplots()
    for index, (name, directory) in enumerate(runs.items()):
        colour = CATEGORIES[index % len(CATEGORIES)]
        records = _records(Path(directory))
        steps, losses = _losses(records, "train")
        axes.plot(steps, losses, color=colour, linewidth=1.4, label=f"{name}, training")
        steps, losses = _losses(records, "dev")
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "linestyle": "--"}
        axes.plot(steps, losses, color=colour, linewidth=1.2, label=f"{name}, validation", **style)
    axes.set_xlabel("step")
    axes.set_ylabel("loss, nats per token")
    axes.set_xlim(left=0)
    axes.set_title("Loss (training loss includes label smoothing)")
    axes.legend()
    quiet_grid(axes)
    return Plot(figure)


def _records(directory: Path) -> list[dict[str, Any]]:
    records = read_metrics(directory / METRICS)
    if not any(record.get("loss") is not None for record in records):
        raise UserError(
            f"{directory} has no losses in {METRICS}; give the directory of a training run"
        )
    return records


def _losses(records: list[dict[str, Any]], kind: str) -> tuple[list[int], list[float]]:
    chosen = [r for r in records if r["kind"] == kind and r.get("loss") is not None]
    return [r["step"] for r in chosen], [r["loss"] for r in chosen]


@in_style()
def schedules(
    steps: int = 20000, warmup: int = 4000, peak: float = 1e-3, d_model: int = 512
) -> Plot:
    """Every learning-rate schedule of the recipes; the paper's has its own peak, from d_model."""
    shapes: tuple[Shape, ...] = get_args(Shape)
    sampled = np.unique(np.linspace(1, steps, 600).astype(int))
    figure = Figure(figsize=(9, 4.6))
    axes = figure.subplots()
    for shape, colour, dash in zip(shapes, CATEGORIES, _DASHES, strict=False):
        rate = make_schedule(shape, 1.0 if shape == "paper" else peak, warmup, steps, d_model)
        values = [rate(int(step)) for step in sampled]
        axes.plot(sampled, values, color=colour, linestyle=dash, label=_SCHEDULES[shape])
    axes.axvline(warmup, color=PALE, linewidth=1)
    axes.text(warmup, axes.get_ylim()[1], " warm-up ends", va="top", color=GREY, fontsize=9)
    axes.set_xlim(0, steps)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("step")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("learning rate")
    axes.set_title("Learning-rate schedules")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    quiet_grid(axes)
    return Plot(figure)
