"""Plots of head ablation, the logit lens, and the norms of the residual stream."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from clearhead.errors import UserError
from clearhead.explain.attention import TITLES, SentencePair, labels
from clearhead.explain.interpretability import Lens, effects, norms_by_depth
from clearhead.explain.plots.attention import escaped
from clearhead.explain.plots.plot import Plot
from clearhead.models import Transformer
from clearhead.plot_style import BLACK, BLUE, GREY, ORANGE, SIGNED, WEIGHTS, in_style, quiet_grid
from clearhead.text import BothLanguages
from clearhead.translation import Translator

_MAX_TOKENS = 40  # of the logit lens
_MAX_LETTERS = 9  # of a token in a cell


@in_style()
def head_effects(translator: Translator, known: SentencePair) -> Plot:
    """The change of the translation's log-probability in nats without each single head."""
    table = {kind: np.array(rows) for kind, rows in effects(translator, known).items()}
    most = max(float(np.abs(rows).max()) for rows in table.values()) or 1.0
    figure = Figure(figsize=(10.5, 3.9))
    panels = figure.subplots(1, len(table))
    for axes, (kind, rows) in zip(panels, table.items(), strict=True):
        # Orange: the translation depends on this head.
        image = axes.imshow(-rows, cmap=SIGNED, vmin=-most, vmax=most)
        for (layer, head), change in np.ndenumerate(rows):
            ink = "white" if abs(change) > 0.45 * most else "black"
            text = f"{change:+.2f}".replace("-", "−")
            axes.text(head, layer, text, ha="center", va="center", color=ink, fontsize=8)
        axes.set(title=TITLES[kind], xlabel="head")
        axes.set(yticks=range(rows.shape[0]), xticks=range(rows.shape[1]))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    panels[0].set_ylabel("layer")
    bar = figure.colorbar(image, ax=panels, shrink=0.7, aspect=25)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{0.0 - value:+.1f}".replace("-", "−"))
    bar.set_label("change of log-probability, nats", color=GREY)
    title = f"Head ablation: log-probability of “{_truncated(known.translation)}”"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return Plot(figure)


def _truncated(text: str, most: int = 60) -> str:
    text = escaped([text.strip()])[0]
    return text if len(text) <= most else text[: most - 1] + "…"


@in_style()
def logit_lens(lens: Lens, tokenizer: BothLanguages) -> Plot:
    """In each cell the most likely token; darker is likelier, the token to be written is framed."""
    best, probability = lens.best(), lens.probability_of_best()
    depths, length = best.shape
    if length > _MAX_TOKENS:
        raise UserError(
            f"this plot has room for {_MAX_TOKENS} tokens and the translation has {length}; "
            "give a shorter sentence"
        )
    figure = Figure(figsize=(max(5.2, 0.78 * length + 1.9), 0.42 * depths + 1.8))
    axes = figure.subplots()
    values = probability.numpy()
    image = axes.imshow(values, cmap=WEIGHTS, vmin=0, vmax=1, aspect="auto", origin="lower")
    for depth in range(depths):
        for position, word in enumerate(escaped(labels(tokenizer, best[depth].tolist()))):
            ink = "white" if probability[depth, position] > 0.4 else BLACK
            framed = int(best[depth, position]) == lens.written[position]
            box = {"boxstyle": "round,pad=0.25", "fill": False, "edgecolor": ink, "linewidth": 0.9}
            text, frame = word[:_MAX_LETTERS], box if framed else None
            centred: Any = {"ha": "center", "va": "center", "fontsize": 8}
            axes.text(position, depth, text, color=ink, bbox=frame, **centred)
    axes.set_yticks(range(depths), ["embedding", *(f"layer {i}" for i in range(depths - 1))])
    written = escaped(labels(tokenizer, lens.written))
    axes.set_xticks(range(length), written, rotation=30, ha="right")
    axes.set_xlabel("token to be written")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    title = "Logit lens: prediction after each layer\nframed: the token to be written"
    figure.suptitle(title, x=0.01, ha="left")
    figure.colorbar(image, ax=axes, label="probability", aspect=18)
    return Plot(figure)


@in_style()
def residual_norms(model: Transformer, known: SentencePair) -> Plot:
    """The norm of the residual stream after each layer: tokens as dots, their mean as a line.

    In a pre-norm model every layer adds to the stream, so its norm grows; a post-norm model
    normalizes it after every sublayer.
    """
    figure = Figure(figsize=(9, 4))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, colour, (stack, depths) in zip(
        panels, (BLUE, ORANGE), norms_by_depth(model, known).items(), strict=True
    ):
        for depth, norms in enumerate(depths):
            axes.plot([depth] * len(norms), norms, "o", color=colour, alpha=0.3, markersize=4)
        means = [sum(norms) / len(norms) for norms in depths]
        axes.plot(range(len(depths)), means, color=colour)
        axes.set(title=stack.capitalize(), xlabel="number of layers (0: embedding + position)")
        axes.set_xticks(range(len(depths)))
        axes.set_ylim(bottom=0)
        quiet_grid(axes)
    panels[0].set_ylabel("norm of the residual stream")
    return Plot(figure)
