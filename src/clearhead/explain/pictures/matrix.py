"""One attention matrix on one pair of axes: rows are queries, columns are keys."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError
from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.pictures.style import GREY, WEIGHTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

ROWS = {
    "encoder": "this token …",
    "decoder": "this token …",
    "self": "this token …",
    "cross": "writing this token …",
    "saliency": "writing this token …",
}
COLUMNS = {
    "encoder": "… looks at this one",
    "decoder": "… looks at this one",
    "self": "… looks at this one",
    "cross": "… the decoder looks at this one",
    "saliency": "… hangs on this one",
}
_CELL = 0.27  # inches


def draw_matrix(axes: "Axes", weights: NDArray[np.float32], most: float = 1.0) -> "AxesImage":
    """White is 0, the darkest is `most`."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return axes.imshow(weights, cmap=WEIGHTS, vmin=0.0, vmax=most, aspect="equal")


def name_words(axes: "Axes", queries: Sequence[str], keys: Sequence[str], size: float = 9) -> None:
    """Write the words beside the rows and above the columns."""
    top: Any = {"top": True, "labeltop": True, "bottom": False, "labelbottom": False}
    axes.tick_params(axis="x", **top)
    upright: Any = {"rotation": 60.0, "ha": "left", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(keys)), plain(keys), fontsize=size, **upright)
    axes.set_yticks(range(len(queries)), plain(queries), fontsize=size)


def no_words(axes: "Axes") -> None:
    """A small picture among many has no room for words."""
    axes.set_xticks([])
    axes.set_yticks([])


def plain(words: Sequence[str]) -> list[str]:
    """A dollar sign would begin a formula."""
    return [word.replace("$", r"\$") for word in words]


def explain_axes(axes: "Axes", shown: AttentionMap) -> None:
    """Say in words which way to read."""
    axes.set_ylabel(ROWS[shown.kind], color=GREY)
    axes.set_xlabel(COLUMNS[shown.kind], color=GREY)


def size_of(shown: AttentionMap) -> tuple[float, float]:
    """Inches that give each cell the same room, and the words theirs."""
    longest = max(map(len, (*shown.queries, *shown.keys)))
    room = 1.1 + 0.075 * min(longest, 20)
    rows, columns = len(shown.queries), len(shown.keys)
    return max(4.6, _CELL * columns + room + 1.2), max(3.6, _CELL * rows + room + 0.6)


def check_length(shown: AttentionMap, most: int) -> None:
    """A picture has an end.

    Raises:
        UserError: more words than there is room for.
    """
    longest = max(len(shown.queries), len(shown.keys))
    if longest > most:
        raise UserError(
            f"this picture has room for {most} tokens and the sentence has {longest}; "
            "give a shorter sentence, or write .html, which scrolls"
        )
