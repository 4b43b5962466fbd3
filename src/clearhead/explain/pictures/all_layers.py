"""The heat maps of every head in every layer: a map to find one's way by."""

from matplotlib.figure import Figure

from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.pictures.matrix import check_length, draw_matrix, no_words
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import GREY, RULES, in_style

MOST_WORDS = 256
_SIDE = 1.35  # inches of one head


@in_style()
def all_layers(shown: AttentionMap) -> Picture:
    """A row a layer, a column a head, all on one scale."""
    check_length(shown, MOST_WORDS)
    rows, columns = len(shown.layers), len(shown.heads)
    figure = Figure(figsize=(max(5.0, _SIDE * columns + 1.4), _SIDE * rows + 0.9))
    panels = figure.subplots(rows, columns, squeeze=False)
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
    figure.suptitle(f"{shown.title}, {size}", x=0.01, ha="left")
    figure.colorbar(image, ax=panels, label="attention weight", shrink=0.6, aspect=25)
    return Picture(figure, RULES)


def _frame(axes: object) -> None:
    spines = getattr(axes, "spines")  # noqa: B009 - matplotlib types it too narrowly
    spines[:].set_visible(True)
    spines[:].set_color("#BBBBBB")
