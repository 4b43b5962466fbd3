"""Cross-attention with the path of alignment: where each token was taken from, it seems."""

import numpy as np
from matplotlib.figure import Figure

from clearhead.errors import UserError
from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.pictures.matrix import (
    check_length,
    draw_matrix,
    explain_axes,
    name_words,
    size_of,
)
from clearhead.explain.pictures.one_head import MOST_WORDS
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import ORANGE, RULES, in_style


@in_style()
def alignment(shown: AttentionMap, layer: int = -1, head: int | None = None) -> Picture:
    """The average of a layer's heads, or one head, and in each row the place it looks at most.

    Attention is no alignment: a layer may look at the end sign, or one word further.
    Which layer aligns best differs from model to model; `clearhead evaluate` measures it.
    """
    if shown.kind != "cross":
        raise UserError(f"{shown.title.lower()} aligns nothing; give the map of cross-attention")
    check_length(shown, MOST_WORDS)
    weights = shown.layer(layer).mean(0) if head is None else shown.head(layer, head)
    figure = Figure(figsize=size_of(shown))
    axes = figure.subplots()
    image = draw_matrix(axes, weights)
    rows = np.arange(len(shown.queries))
    axes.plot(weights.argmax(-1), rows, color=ORANGE, linewidth=1.4, marker="o", markersize=4.5)
    name_words(axes, shown.queries, shown.keys)
    explain_axes(axes, shown)
    who = "average of its heads" if head is None else f"head {head}"
    number = shown.layers[layer] if layer < 0 else layer
    head_line = f"{shown.title}, layer {number}, {who}\norange: looked at most"
    figure.suptitle(head_line, x=0.01, ha="left")
    figure.colorbar(image, ax=axes, label="attention weight", shrink=0.7, aspect=25)
    return Picture(figure, RULES)
