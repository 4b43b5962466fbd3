"""What every head is worth on one sentence: turn it off and see."""

import numpy as np
from matplotlib.figure import Figure

from clearhead.explain.attention_map import TITLES
from clearhead.explain.heads_off import effects
from clearhead.explain.look import Sentence
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import GREY, RULES, SIGNED, in_style
from clearhead.translation import Translator


@in_style()
def head_effects(translator: Translator, known: Sentence) -> Picture:
    """The change of the translation's log-probability, in nats, with one head off at a time."""
    table = {kind: np.array(rows) for kind, rows in effects(translator, known).items()}
    most = max(float(np.abs(rows).max()) for rows in table.values()) or 1.0
    figure = Figure(figsize=(10.5, 3.9))
    panels = figure.subplots(1, len(table))
    for axes, (kind, rows) in zip(panels, table.items(), strict=True):
        # Orange, the colour of warning, is what the translation cannot do without.
        image = axes.imshow(-rows, cmap=SIGNED, vmin=-most, vmax=most)
        for (layer, head), change in np.ndenumerate(rows):
            ink = "white" if abs(change) > 0.55 * most else "black"
            text = f"{change:+.2f}".replace("-", "−")
            axes.text(head, layer, text, ha="center", va="center", color=ink, fontsize=8)
        axes.set_title(TITLES[kind])
        axes.set_xticks(range(rows.shape[1]))
        axes.set_yticks(range(rows.shape[0]))
        axes.set_xlabel("head")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    panels[0].set_ylabel("layer")
    bar = figure.colorbar(image, ax=panels, shrink=0.7, aspect=25)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{0.0 - value:+.1f}".replace("-", "−"))
    bar.set_label("nats, when it is off", color=GREY)
    title = f"How much less likely “{_short(known.translation)}” is without this head"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return Picture(figure, RULES)


def _short(text: str, most: int = 60) -> str:
    text = text.strip().replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"
