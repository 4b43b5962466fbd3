"""The heat maps of all heads of one layer, side by side."""

import math

from matplotlib.figure import Figure

from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.pictures.matrix import check_length, draw_matrix, name_words, no_words
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import GREY, RULES, in_style

MOST_WORDS = 60
_WITH_WORDS = 30  # beyond, words would be too small to read
_SIDE = (2.4, 4.2)  # inches of one head, without and with words


@in_style()
def all_heads(shown: AttentionMap, layer: int) -> Picture:
    """One matrix a head, all on one scale; layer counts from 0."""
    check_length(shown, MOST_WORDS)
    weights = shown.layer(layer)
    worded = max(len(shown.queries), len(shown.keys)) <= _WITH_WORDS
    columns = min(4, math.ceil(math.sqrt(len(shown.heads))))
    rows = math.ceil(len(shown.heads) / columns)
    side = _SIDE[worded]
    tall = side if worded else side * min(1.6, max(0.5, len(shown.queries) / len(shown.keys)))
    figure = Figure(figsize=(max(5.0, side * columns + 0.8), tall * rows + 0.6))
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat[len(shown.heads) :]:
        axes.set_visible(False)
    for axes, head, matrix in zip(panels.flat, shown.heads, weights, strict=False):
        image = draw_matrix(axes, matrix)
        axes.set_title(f"head {head}", fontsize=10, color=GREY)
        if worded:
            name_words(axes, shown.queries, shown.keys, size=7)
        else:
            no_words(axes)
    figure.suptitle(f"{shown.title}, layer {layer}: each head looks its own way", x=0.01, ha="left")
    figure.colorbar(image, ax=panels, label="attention weight", shrink=0.5, aspect=25)
    return Picture(figure, RULES)
