"""The heat maps of every head in every layer: a map to find one's way by."""

from typing import Any

from matplotlib.figure import Figure

from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.pictures.matrix import check_length, draw_matrix, no_words
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import GREY, RULES, in_style

MOST_WORDS = 256
_SIDES = (1.35, 2.4)  # inches of one head, among many and among few
_WIDTH = 5.0  # of a picture, at least
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.45, 0.95, 0.75, 0.15  # inches around the heads


@in_style()
def all_layers(shown: AttentionMap) -> Picture:
    """A row a layer, a column a head, all on one scale."""
    check_length(shown, MOST_WORDS)
    figure, panels = _panels(shown)
    for row, layer in enumerate(shown.layers):
        panels[row, 0].set_ylabel(f"layer {layer}", color=GREY)
        for column, head in enumerate(shown.heads):
            axes = panels[row, column]
            image = draw_matrix(axes, shown.weights[row, column])
            no_words(axes)
            _frame(axes)
            if row == 0:
                axes.set_title(f"head {head}", fontsize=10, color=GREY)
    size = f"{len(shown.queries)} x {len(shown.keys)} tokens"
    width, height = figure.get_size_inches()
    figure.suptitle(f"{shown.title}, {size}", x=0.08 / width, y=1 - 0.1 / height, ha="left")
    tall, left = min(0.8 * height, 3.5), panels[0, -1].get_position().x1 + 0.15 / width
    bar = figure.add_axes((left, (1 - tall / height) / 2, 0.14 / width, tall / height))
    figure.colorbar(image, cax=bar, label="attention weight")
    return Picture(figure, RULES)


def _panels(shown: AttentionMap) -> tuple[Figure, Any]:
    """Laid out by hand: to fit hundreds of panels, matplotlib's own layout takes a minute."""
    rows, columns = len(shown.layers), len(shown.heads)
    small, large = _SIDES
    side = min(large, max(small, (_WIDTH - _LEFT - _RIGHT) / columns))
    across = side * columns
    down = side * rows * min(1.6, max(0.4, len(shown.queries) / len(shown.keys)))
    width, height = max(_WIDTH, across + _LEFT + _RIGHT), down + _TOP + _BOTTOM
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")
    grid = {
        "left": _LEFT / width, "right": (_LEFT + across) / width, "wspace": 0.08,
        "bottom": _BOTTOM / height, "top": (_BOTTOM + down) / height, "hspace": 0.08,
    }  # fmt: skip
    return figure, figure.subplots(rows, columns, squeeze=False, gridspec_kw=grid)


def _frame(axes: object) -> None:
    spines = getattr(axes, "spines")  # noqa: B009 - matplotlib types it too narrowly
    spines[:].set_visible(True)
    spines[:].set_color("#BBBBBB")
