"""Plots of the model's input: positional encodings, and neighbours in the embedding matrix."""

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.figure import Figure

from clearhead.blocks.positional_encoding import sinusoids
from clearhead.errors import UserError
from clearhead.explain.attention import label
from clearhead.explain.plots.attention import escaped
from clearhead.explain.plots.plot import Plot
from clearhead.plot_style import BLUE, GREY, SIGNED, in_style, quiet_grid
from clearhead.text import BothLanguages
from clearhead.text.tokenizer import SPECIALS
from clearhead.translation import Translator

Neighbours = list[tuple[str, float]]
_MAX_WORDS = 8


@in_style()
def sinusoid_map(positions: int = 100, d_model: int = 128) -> Plot:
    """The positional encoding (positions, d_model) as a heat map (paper, section 3.5)."""
    figure = Figure(figsize=(9, 4.8))
    axes = figure.subplots()
    table = sinusoids(positions, d_model).numpy()
    image = axes.imshow(table, cmap=SIGNED, vmin=-1, vmax=1, aspect="auto", interpolation="none")
    label = "dimension (even: sine, odd: cosine; the frequency falls to the right)"
    title = f"Positional encoding, {positions} positions, d_model = {d_model}"
    axes.set(xlabel=label, ylabel="position", title=title)
    figure.colorbar(image, ax=axes, label="value added to the embedding", aspect=25)
    return Plot(figure)


@in_style()
def position_waves(
    positions: int = 100, d_model: int = 128, dimensions: Sequence[int] = (4, 5, 16, 32, 64)
) -> Plot:
    """Some dimensions of the positional encoding; 2i and 2i + 1 are a sine and a cosine."""
    wrong = [d for d in dimensions if not 0 <= d < d_model]
    if wrong or not dimensions:
        raise UserError(f"dimensions={list(dimensions)} must all be from 0 to {d_model - 1}")
    table = sinusoids(positions, d_model).numpy()
    figure = Figure(figsize=(9, 1.15 * len(dimensions) + 1))
    panels = figure.subplots(len(dimensions), 1, sharex=True, squeeze=False)[:, 0]
    for axes, dimension in zip(panels, dimensions, strict=True):
        axes.plot(table[:, dimension], linewidth=1.6)
        axes.set(ylim=(-1.15, 1.15), yticks=[-1, 0, 1])
        wave, exponent = ("cos", "sin")[dimension % 2 == 0], 2 * (dimension // 2)
        formula = rf"dimension {dimension}:  $\{wave}(pos / 10000^{{{exponent}/{d_model}}})$"
        axes.set_title(formula, fontsize=10)
        quiet_grid(axes)
    panels[-1].set(xlabel="position", xlim=(0, positions - 1))
    return Plot(figure)


@in_style()
def position_products(d_model: int = 128, distance: int = 100) -> Plot:
    r"""The dot product of two positional encodings as a function of their distance k.

    .. math:: PE_{pos} \cdot PE_{pos+k} = \sum_i \cos(k / 10000^{2i/d_{model}})

    It depends on k alone, is largest at 0 and equal for k and -k: the product alone cannot
    distinguish "before" from "after"; the learned projections must.
    """
    table = sinusoids(2 * distance + 1, d_model).double().numpy()
    product = table @ table[distance] / (d_model / 2)
    figure = Figure(figsize=(8, 4))
    axes = figure.subplots()
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.plot(np.arange(-distance, distance + 1), product, color=BLUE)
    title = f"Dot product of positional encodings, d_model = {d_model}"
    axes.set(xlim=(-distance, distance), ylabel="dot product (1: equal positions)", title=title)
    axes.set_xlabel("distance between two positions, in tokens")
    quiet_grid(axes)
    return Plot(figure)


def nearest(translator: Translator, word: str, count: int = 8) -> Neighbours:
    """The tokens whose embeddings have the largest cosine similarity with that of a word.

    Raises:
        UserError: the word consists of more than one token, and so has no embedding of its own, or
            there are not so many tokens.
    """
    size = translator.tokenizer.vocab_size
    if not 1 <= count < size:
        raise UserError(f"count={count}: expected 1 to {size - 1:,}, the other tokens")
    token = _only_token(translator.tokenizer, word)
    matrix = translator.model.src_embed.get_parameter("embedding.weight").detach().float()
    matrix = torch.nn.functional.normalize(matrix[:size], dim=1)
    cosines = matrix @ matrix[token]
    cosines[: len(SPECIALS)] = cosines[token] = -torch.inf
    best = cosines.topk(count)
    return [
        (label(translator.tokenizer.piece(i)), value)
        for i, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def _only_token(tokenizer: BothLanguages, word: str) -> int:
    ids = tokenizer.encode(word)
    if len(ids) != 1:
        pieces = " ".join(repr(tokenizer.piece(i)) for i in ids) or "nothing"
        raise UserError(
            f"{word!r} is {len(ids)} tokens to this model ({pieces}) and has no embedding of its "
            "own; give a more common word"
        )
    return ids[0]


@in_style()
def embedding_neighbours(translator: Translator, words: Sequence[str], count: int = 8) -> Plot:
    """For each word, its nearest tokens by cosine similarity, in one panel."""
    if not 1 <= len(words) <= _MAX_WORDS:
        raise UserError(f"this plot has room for 1 to {_MAX_WORDS} words, got {len(words)}")
    found = {word: nearest(translator, word, count) for word in words}
    columns = min(4, len(found))
    rows = -(-len(found) // columns)
    figure = Figure(figsize=(2.8 * columns, 0.27 * count * rows + 0.9 * rows))
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axes in panels.flat[len(found) :]:
        axes.set_visible(False)
    for axes, (word, neighbours) in zip(panels.flat, found.items(), strict=False):
        tokens, values = zip(*neighbours, strict=True)
        axes.barh(range(count), values, color=BLUE, height=0.7)
        axes.set_yticks(range(count), escaped(tokens))
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.set(title=f"nearest to {escaped([word])[0]!r}", xlim=(0, 1))
    for axes in panels[-1]:
        axes.set_xlabel("cosine similarity")
    return Plot(figure)
