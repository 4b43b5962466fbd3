"""How alike two positions are, by their distance."""

import numpy as np
from matplotlib.figure import Figure

from clearhead.blocks.positional_encoding import sinusoids
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import BLUE, GREY, RULES, in_style, quiet_grid


@in_style()
def position_products(d_model: int = 128, distance: int = 100) -> Picture:
    r"""The dot product of two encodings depends on their distance k alone.

    .. math:: PE_{pos} \cdot PE_{pos+k} = \sum_i \cos(k / 10000^{2i/d_{model}})

    It is largest at 0, falls off, and is the same to the left as to the right: the
    product alone cannot tell "before" from "after", the learned projections must.
    """
    table = sinusoids(2 * distance + 1, d_model).double().numpy()
    product = table @ table[distance] / (d_model / 2)
    figure = Figure(figsize=(8, 4))
    axes = figure.subplots()
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.plot(np.arange(-distance, distance + 1), product, color=BLUE)
    axes.set_xlabel("distance between two positions, in tokens")
    axes.set_ylabel("dot product, 1 = the same position")
    axes.set_xlim(-distance, distance)
    axes.set_title(f"Neighbours are alike, d_model = {d_model}")
    quiet_grid(axes)
    return Picture(figure, RULES)
