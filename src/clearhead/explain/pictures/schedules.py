"""Learning rates over the steps of training."""

from typing import get_args

import numpy as np
from matplotlib.figure import Figure

from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import CATEGORIES, RULES, in_style, quiet_grid
from clearhead.training.schedule import Shape, make_schedule

DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
NOTES = {
    "paper": "paper (Noam): equation 3",
    "inverse_sqrt": "inverse square root",
    "cosine": "half a cosine to zero",
    "trapezoid": "trapezoid: level, then straight to zero",
    "constant": "constant after the warm-up",
}


@in_style()
def schedules(
    steps: int = 20000, warmup: int = 4000, peak: float = 1e-3, d_model: int = 512
) -> Picture:
    """Every shape that a recipe may ask for; the paper's has its own peak, from d_model."""
    shapes: tuple[Shape, ...] = get_args(Shape)
    places = np.unique(np.linspace(1, steps, 600).astype(int))
    figure = Figure(figsize=(9, 4.6))
    axes = figure.subplots()
    for shape, colour, dash in zip(shapes, CATEGORIES, DASHES, strict=False):
        rate = make_schedule(shape, 1.0 if shape == "paper" else peak, warmup, steps, d_model)
        values = [rate(int(step)) for step in places]
        axes.plot(places, values, color=colour, linestyle=dash, label=NOTES[shape])
    axes.axvline(warmup, color="#BBBBBB", linewidth=1)
    axes.text(warmup, axes.get_ylim()[1], " warm-up ends", va="top", color="#666666", fontsize=9)
    axes.set_xlim(0, steps)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("step")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("learning rate")
    axes.set_title("Up carefully, then down")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    quiet_grid(axes)
    return Picture(figure, RULES)
