"""The heat map of one attention head."""

from matplotlib.figure import Figure

from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.pictures.matrix import (
    check_length,
    draw_matrix,
    explain_axes,
    name_words,
    size_of,
)
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import RULES, in_style

MOST_WORDS = 120


@in_style()
def one_head(shown: AttentionMap, layer: int, head: int) -> Picture:
    """What every token looks at in one head; layer and head count from 0."""
    check_length(shown, MOST_WORDS)
    figure = Figure(figsize=size_of(shown))
    axes = figure.subplots()
    image = draw_matrix(axes, shown.head(layer, head))
    name_words(axes, shown.queries, shown.keys)
    explain_axes(axes, shown)
    axes.set_title(f"{shown.title}, layer {layer}, head {head}", pad=10)
    figure.colorbar(image, ax=axes, label="attention weight", shrink=0.7, aspect=25)
    return Picture(figure, RULES)
