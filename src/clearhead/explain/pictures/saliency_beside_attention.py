"""Attention beside gradient times input, so that the two can be compared."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from clearhead.errors import UserError
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
from clearhead.explain.saliency import shares

MOST_WORDS = 60


@in_style()
def saliency_beside_attention(
    shown: AttentionMap, signed: NDArray[np.float32], layer: int = -1
) -> Picture:
    """Left the cross-attention of a layer, averaged over heads; right the shares of saliency.

    Both have rows that sum to 1. Their agreement, a mean rank correlation over the rows,
    is in the title: 1 if both order the source tokens alike, 0 if they have nothing in common.
    """
    check_length(shown, MOST_WORDS)
    weights = shown.layer(layer).mean(0)
    if weights.shape != signed.shape:
        raise UserError(
            f"attention is {weights.shape[0]} x {weights.shape[1]} and saliency "
            f"{signed.shape[0]} x {signed.shape[1]}; give both of one sentence"
        )
    portions = shares(signed)
    width, height = size_of(shown)
    figure = Figure(figsize=(2 * width, height))
    panels = figure.subplots(1, 2)
    titles = f"Cross-attention, layer {shown.layers[layer]}", "|gradient × input|"
    for axes, matrix, title in zip(panels, (weights, portions), titles, strict=True):
        image = draw_matrix(axes, matrix)
        name_words(axes, shown.queries, shown.keys)
        axes.set_title(title, pad=10)
    explain_axes(panels[0], shown)
    panels[1].set_xlabel("… hangs on this one")
    agreement = rank_agreement(weights, portions)
    title = f"Where it looked, and what the outcome hangs on: rank correlation {agreement:.2f}"
    figure.suptitle(title, x=0.01, ha="left")
    figure.colorbar(image, ax=panels, label="share of the row", shrink=0.7, aspect=25)
    return Picture(figure, RULES)


def rank_agreement(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Spearman's correlation of each pair of rows, averaged."""
    ranks = [np.argsort(np.argsort(matrix, axis=-1), axis=-1) for matrix in (one, other)]
    centred = [rank - rank.mean(-1, keepdims=True) for rank in ranks]
    sizes = np.sqrt((centred[0] ** 2).sum(-1) * (centred[1] ** 2).sum(-1))
    return float(((centred[0] * centred[1]).sum(-1) / np.maximum(sizes, 1e-12)).mean())
