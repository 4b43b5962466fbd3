"""The three masks on one padded sentence."""

from collections.abc import Sequence

import torch
from matplotlib.figure import Figure
from torch import Tensor

from clearhead.blocks import decoder_mask, look_ahead_mask, padding_mask
from clearhead.explain.pictures.matrix import plain
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import BLUE, GREY, RULES, in_style

_PAD = 0


@in_style()
def mask_gallery(words: Sequence[str] = ("<s>", "Un", "homme", "rit"), padding: int = 2) -> Picture:
    """Padding mask, look-ahead mask, and both: blue = may look, white = hidden."""
    size = len(words) + padding
    ids = torch.tensor([[1] * len(words) + [_PAD] * padding])
    masks = {
        "padding_mask": padding_mask(ids, _PAD).expand(1, 1, size, size),
        "look_ahead_mask": look_ahead_mask(size),
        "decoder_mask = both": decoder_mask(ids, _PAD),
    }
    named = [*words, *["<pad>"] * padding]
    figure = Figure(figsize=(11.5, 4.4))
    for axes, (title, mask) in zip(figure.subplots(1, 3), masks.items(), strict=True):
        _draw(axes, mask[0, 0], named)
        axes.set_title(title, family="monospace", pad=8)
    figure.suptitle("A row may look at the blue columns, and at nothing else", x=0.01, ha="left")
    return Picture(figure, RULES)


def _draw(axes: object, mask: Tensor, words: Sequence[str]) -> None:
    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap

    assert isinstance(axes, Axes)
    colours = ListedColormap(["#FFFFFF", BLUE])
    axes.pcolormesh(mask.float().numpy(), cmap=colours, edgecolors="#CCCCCC")
    axes.set_aspect("equal")
    axes.invert_yaxis()
    places = [i + 0.5 for i in range(len(words))]
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.set_xticks(places, plain(words), rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(places, plain(words))
    axes.spines[:].set_color(GREY)
