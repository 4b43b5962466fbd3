"""Heat maps of attention: one head, all heads, all layers, alignment; masks; saliency."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray
from torch import Tensor

from clearhead.blocks import decoder_mask, look_ahead_mask, padding_mask
from clearhead.errors import UserError
from clearhead.explain.attention import AttentionMap
from clearhead.explain.interpretability import shares
from clearhead.explain.plots.plot import Plot
from clearhead.plot_style import BLUE, GREY, ORANGE, PALE, WEIGHTS, in_style

Matrix = NDArray[np.float32]
_CELL = 0.27  # inches of a cell
_MAX_TOKENS = {"one_head": 120, "all_heads": 60, "all_layers": 256, "saliency": 60}
_LABELLED = 30  # beyond so many tokens the labels of many heads would be too small to read
_HEAD_SIZE = (2.4, 4.2)  # inches of one head in `all_heads`, without and with labels
_GRID_SIZE = (1.35, 2.4)  # inches of one head in `all_layers`, for many and for few heads
_GRID_WIDTH = 5.0  # minimum width of `all_layers`
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.45, 0.95, 0.75, 0.15  # margins of `all_layers` in inches
_PAD = 0


@in_style()
def one_head(shown: AttentionMap, layer: int, head: int) -> Plot:
    """The attention weights of one head; layer and head count from 0."""
    return _labelled(shown, shown.head(layer, head), f"{shown.title}, layer {layer}, head {head}")


@in_style()
def alignment(shown: AttentionMap, layer: int = -1, head: int | None = None) -> Plot:
    """Cross-attention with the largest weight of each row marked.

    Shows the average of a layer's heads, or one head. Attention is not alignment: a head may
    attend to the EOS token or to a neighbouring token. Which layer aligns best differs between
    models; `clearhead evaluate` measures it.
    """
    if shown.kind != "cross":
        raise UserError(f"{shown.title.lower()} aligns nothing; give the map of cross-attention")
    weights = shown.layer(layer).mean(0) if head is None else shown.head(layer, head)
    index = shown.layers[layer] if layer < 0 else layer
    heads = "average of its heads" if head is None else f"head {head}"
    title = f"{shown.title}, layer {index}, {heads}\norange: largest weight of the row"
    plot = _labelled(shown, weights, title)
    rows, columns = np.arange(len(weights)), weights.argmax(-1)
    plot.figure.axes[0].plot(columns, rows, color=ORANGE, lw=1.4, marker="o", ms=4.5)
    return plot


def _labelled(shown: AttentionMap, weights: Matrix, title: str) -> Plot:
    _check_length(shown, _MAX_TOKENS["one_head"])
    figure = Figure(figsize=_figure_size(shown))
    axes = figure.subplots()
    image = _draw(axes, weights)
    _label_tokens(axes, shown.queries, shown.keys)
    _label_axes(axes, shown)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.colorbar(image, ax=axes, label="attention weight", shrink=0.7, aspect=25)
    return Plot(figure)


@in_style()
def all_heads(shown: AttentionMap, layer: int) -> Plot:
    """The attention weights of every head of one layer, on one scale; the layer counts from 0."""
    _check_length(shown, _MAX_TOKENS["all_heads"])
    weights, count = shown.layer(layer), len(shown.heads)
    labelled = max(len(shown.queries), len(shown.keys)) <= _LABELLED
    columns = min(4, math.ceil(math.sqrt(count)))
    rows = math.ceil(count / columns)
    side = _HEAD_SIZE[labelled]
    ratio = min(1.6, max(0.5, len(shown.queries) / len(shown.keys)))
    height = side if labelled else side * ratio
    figure = Figure(figsize=(max(5.0, side * columns + 0.8), height * rows + 0.6))
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat[count:]:
        axes.set_visible(False)
    for axes, head, matrix in zip(panels.flat, shown.heads, weights, strict=False):
        image = _draw(axes, matrix)
        axes.set_title(f"head {head}", fontsize=10, color=GREY)
        if labelled:
            _label_tokens(axes, shown.queries, shown.keys, size=7)
        else:
            _frame(axes)
            _label_axes(axes, shown)
    figure.suptitle(f"{shown.title}, layer {layer}", x=0.01, ha="left")
    figure.colorbar(image, ax=panels, label="attention weight", shrink=0.5, aspect=25)
    return Plot(figure)


@in_style()
def all_layers(shown: AttentionMap) -> Plot:
    """The attention weights of all heads: one row for each layer, one column for each head."""
    _check_length(shown, _MAX_TOKENS["all_layers"])
    figure, panels = _panels(shown)
    for row, layer in enumerate(shown.layers):
        panels[row, 0].set_ylabel(f"layer {layer}", color=GREY)
        for column, head in enumerate(shown.heads):
            axes = panels[row, column]
            image = _draw(axes, shown.weights[row, column])
            _frame(axes)
            if row == 0:
                axes.set_title(f"head {head}", fontsize=10, color=GREY)
    size = f"{len(shown.queries)} x {len(shown.keys)} tokens"
    width, height = figure.get_size_inches()
    figure.suptitle(f"{shown.title}, {size}", x=0.08 / width, y=1 - 0.1 / height, ha="left")
    tall, left = min(0.8 * height, 3.5), panels[0, -1].get_position().x1 + 0.15 / width
    bar = figure.add_axes((left, (1 - tall / height) / 2, 0.14 / width, tall / height))
    figure.colorbar(image, cax=bar, label="attention weight")
    return Plot(figure)


def _panels(shown: AttentionMap) -> tuple[Figure, Any]:
    """A grid with a fixed layout: matplotlib's own takes a minute for hundreds of panels."""
    rows, columns = len(shown.layers), len(shown.heads)
    small, large = _GRID_SIZE
    side = min(large, max(small, (_GRID_WIDTH - _LEFT - _RIGHT) / columns))
    across = side * columns
    down = side * rows * min(1.6, max(0.4, len(shown.queries) / len(shown.keys)))
    width, height = max(_GRID_WIDTH, across + _LEFT + _RIGHT), down + _TOP + _BOTTOM
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")
    grid = {
        "left": _LEFT / width, "right": (_LEFT + across) / width, "wspace": 0.08,
        "bottom": _BOTTOM / height, "top": (_BOTTOM + down) / height, "hspace": 0.08,
    }  # fmt: skip
    return figure, figure.subplots(rows, columns, squeeze=False, gridspec_kw=grid)


@in_style()
def saliency_beside_attention(shown: AttentionMap, signed: Matrix, layer: int = -1) -> Plot:
    """Left: a layer's cross-attention, averaged over heads. Right: normalized saliency.

    The rows of both sum to 1. The title gives their mean rank correlation over the rows: 1 if
    both rank the source tokens alike, 0 if the rankings are unrelated.
    """
    _check_length(shown, _MAX_TOKENS["saliency"])
    weights = shown.layer(layer).mean(0)
    if weights.shape != signed.shape:
        raise UserError(
            f"attention is {weights.shape[0]} x {weights.shape[1]} and saliency "
            f"{signed.shape[0]} x {signed.shape[1]}; give both for one sentence"
        )
    portions = shares(signed)
    width, height = _figure_size(shown)
    figure = Figure(figsize=(2 * width, height))
    panels = figure.subplots(1, 2)
    titles = f"Cross-attention, layer {shown.layers[layer]}", "|gradient × input|"
    for axes, matrix, title in zip(panels, (weights, portions), titles, strict=True):
        image = _draw(axes, matrix)
        _label_tokens(axes, shown.queries, shown.keys)
        _label_axes(axes, shown)
        axes.set_title(title, pad=10)
    correlation = rank_correlation(weights, portions)
    title = f"Attention and saliency: rank correlation {correlation:.2f}"
    figure.suptitle(title, x=0.01, ha="left")
    figure.colorbar(image, ax=panels, label="share of the row", shrink=0.7, aspect=25)
    return Plot(figure)


def rank_correlation(one: Matrix, other: Matrix) -> float:
    """Spearman's correlation of each pair of rows, averaged; equal elements share a rank."""
    # Smaller elements minus larger ones: twice the rank, centred.
    centred = [np.sign(m[..., None] - m[..., None, :]).sum(-1) for m in (one, other)]
    norms = np.sqrt((centred[0] ** 2).sum(-1) * (centred[1] ** 2).sum(-1))
    return float(((centred[0] * centred[1]).sum(-1) / np.maximum(norms, 1e-12)).mean())


@in_style()
def mask_gallery(words: Sequence[str] = ("<s>", "Un", "homme", "rit"), padding: int = 2) -> Plot:
    """Padding mask, look-ahead mask and their combination; blue is visible, white is hidden."""
    size = len(words) + padding
    ids = torch.tensor([[1] * len(words) + [_PAD] * padding])
    masks = {
        "padding_mask": padding_mask(ids, _PAD).expand(1, 1, size, size),
        "look_ahead_mask": look_ahead_mask(size),
        "decoder_mask = both": decoder_mask(ids, _PAD),
    }
    tokens = [*words, *["<pad>"] * padding]
    figure = Figure(figsize=(11.5, 4.4))
    for axes, (title, mask) in zip(figure.subplots(1, 3), masks.items(), strict=True):
        _draw_mask(axes, mask[0, 0], tokens)
        axes.set_title(title, family="monospace", pad=8)
    figure.suptitle("Blue: keys (columns) that are visible to a query (row)", x=0.01, ha="left")
    return Plot(figure)


def _draw_mask(axes: Axes, mask: Tensor, tokens: Sequence[str]) -> None:
    colours = ListedColormap(["#ffffff", BLUE])
    axes.pcolormesh(mask.float().numpy(), cmap=colours, edgecolors="#cccccc")
    axes.set_aspect("equal")
    axes.invert_yaxis()
    centres = [i + 0.5 for i in range(len(tokens))]
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.set_xticks(centres, escaped(tokens), rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(centres, escaped(tokens))
    axes.spines[:].set_color(GREY)


def _draw(axes: Axes, weights: Matrix) -> AxesImage:
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return axes.imshow(weights, cmap=WEIGHTS, vmin=0.0, vmax=1.0, aspect="equal")


def _label_tokens(axes: Axes, queries: Sequence[str], keys: Sequence[str], size: float = 9) -> None:
    axes.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False)
    slanted: Any = {"rotation": 60.0, "ha": "left", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(keys)), escaped(keys), fontsize=size, **slanted)
    axes.set_yticks(range(len(queries)), escaped(queries), fontsize=size)


def _frame(axes: Axes) -> None:
    """A frame instead of ticks."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(PALE)


def escaped(words: Sequence[str]) -> list[str]:
    """Words for matplotlib, where a dollar sign would begin a formula."""
    return [word.replace("$", r"\$") for word in words]


def _label_axes(axes: Axes, shown: AttentionMap) -> None:
    target = shown.kind in ("cross", "saliency")
    axes.set_ylabel("target token (query)" if target else "query", color=GREY)
    axes.set_xlabel("source token (key)" if target else "key", color=GREY)


def _figure_size(shown: AttentionMap) -> tuple[float, float]:
    """Inches for equal cells and for the labels."""
    longest = max(map(len, (*shown.queries, *shown.keys)))
    margin = 1.1 + 0.075 * min(longest, 20)
    rows, columns = len(shown.queries), len(shown.keys)
    return max(4.6, _CELL * columns + margin + 1.2), max(3.6, _CELL * rows + margin + 0.6)


def _check_length(shown: AttentionMap, most: int) -> None:
    longest = max(len(shown.queries), len(shown.keys))
    if longest > most:
        raise UserError(
            f"this plot has room for {most} tokens and the sentence has {longest}; "
            "give a shorter sentence, or write .html, which scrolls"
        )
