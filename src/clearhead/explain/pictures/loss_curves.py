"""The losses of one run or of several."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from clearhead.errors import UserError
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import CATEGORIES, RULES, in_style, quiet_grid
from clearhead.training.logbook import read_metrics

METRICS = "metrics.jsonl"


@in_style()
def loss_curves(runs: Mapping[str, str | Path]) -> Picture:
    """Training loss (a line) and validation loss (dots) of run directories, by their names.

    Raises:
        UserError: a directory holds no records.
    """
    figure = Figure(figsize=(9, 4.6))
    axes = figure.subplots()
    for number, (name, directory) in enumerate(runs.items()):
        colour = CATEGORIES[number % len(CATEGORIES)]
        records = _records(Path(directory))
        steps, losses = _curve(records, "train")
        axes.plot(steps, losses, color=colour, linewidth=1.4, label=f"{name}, train")
        steps, losses = _curve(records, "dev")
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "linestyle": "--"}
        axes.plot(steps, losses, color=colour, linewidth=1.2, label=f"{name}, dev", **style)
    axes.set_xlabel("step")
    axes.set_ylabel("loss, nats a token")
    axes.set_xlim(left=0)
    axes.set_title("Loss; of training, with label smoothing")
    axes.legend()
    quiet_grid(axes)
    return Picture(figure, RULES)


def _records(directory: Path) -> list[dict[str, Any]]:
    records = read_metrics(directory / METRICS)
    if not any(record.get("loss") is not None for record in records):
        raise UserError(
            f"{directory} has no losses in {METRICS}; give the directory of a training run"
        )
    return records


def _curve(records: list[dict[str, Any]], kind: str) -> tuple[list[int], list[float]]:
    chosen = [r for r in records if r["kind"] == kind and r.get("loss") is not None]
    return [r["step"] for r in chosen], [r["loss"] for r in chosen]
