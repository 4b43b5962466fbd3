"""The translation coming into focus, layer by layer."""

from matplotlib.figure import Figure

from clearhead.errors import UserError
from clearhead.explain.logit_lens import Lens
from clearhead.explain.pictures.matrix import plain
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import BLACK, RULES, WEIGHTS, in_style
from clearhead.explain.words import labels
from clearhead.text import BothLanguages

MOST_WORDS = 40
_LONGEST = 9  # letters of a word


@in_style()
def logit_lens(lens: Lens, tokenizer: BothLanguages) -> Picture:
    """In each cell the likeliest token; darker is likelier, a frame is the one that is written."""
    best, sure = lens.best(), lens.probability_of_best()
    depths, length = best.shape
    if length > MOST_WORDS:
        raise UserError(
            f"this picture has room for {MOST_WORDS} tokens and the translation has {length}; "
            "give a shorter sentence"
        )
    figure = Figure(figsize=(max(5.2, 0.78 * length + 1.9), 0.42 * depths + 1.8))
    axes = figure.subplots()
    image = axes.imshow(sure.numpy(), cmap=WEIGHTS, vmin=0, vmax=1, aspect="auto", origin="lower")
    for depth in range(depths):
        for place, word in enumerate(plain(labels(tokenizer, best[depth].tolist()))):
            ink = "white" if sure[depth, place] > 0.5 else BLACK
            right = int(best[depth, place]) == lens.written[place]
            box = {"boxstyle": "round,pad=0.25", "fill": False, "edgecolor": ink, "linewidth": 0.9}
            axes.text(
                place,
                depth,
                word[:_LONGEST],
                ha="center",
                va="center",
                color=ink,
                fontsize=8,
                bbox=box if right else None,
            )
    axes.set_yticks(range(depths), ["embedding", *(f"layer {i}" for i in range(depths - 1))])
    axes.set_xticks(range(length), plain(labels(tokenizer, lens.written)), rotation=30, ha="right")
    axes.set_xlabel("the token that is written here")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    head_line = "What the decoder would say if it stopped here\nframed: what it says in the end"
    figure.suptitle(head_line, x=0.01, ha="left")
    figure.colorbar(image, ax=axes, label="probability", aspect=18)
    return Picture(figure, RULES)
