"""Single waves of the positional encoding."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from clearhead.blocks.positional_encoding import sinusoids
from clearhead.errors import UserError
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import RULES, in_style, quiet_grid


@in_style()
def position_waves(
    positions: int = 100, d_model: int = 128, dimensions: Sequence[int] = (4, 5, 16, 32, 64)
) -> Picture:
    """The value of a few dimensions over the positions; a pair 2i, 2i + 1 is sine and cosine."""
    wrong = [d for d in dimensions if not 0 <= d < d_model]
    if wrong or not dimensions:
        raise UserError(f"dimensions={list(dimensions)} do not all lie in 0 to {d_model - 1}")
    table = sinusoids(positions, d_model).numpy()
    figure = Figure(figsize=(9, 1.15 * len(dimensions) + 1))
    panels = figure.subplots(len(dimensions), 1, sharex=True, squeeze=False)[:, 0]
    for axes, dimension in zip(panels, dimensions, strict=True):
        axes.plot(table[:, dimension], linewidth=1.6)
        axes.set_ylim(-1.15, 1.15)
        axes.set_yticks([-1, 0, 1])
        wave, exponent = ("cos", "sin")[dimension % 2 == 0], 2 * (dimension // 2)
        formula = rf"dimension {dimension}:  $\{wave}(pos / 10000^{{{exponent}/{d_model}}})$"
        axes.set_title(formula, fontsize=10)
        quiet_grid(axes)
    panels[-1].set_xlabel("position of the token")
    panels[-1].set_xlim(0, positions - 1)
    return Picture(figure, RULES)
