"""How every picture looks: few lines, plain words, colours for any colour vision.

Categories are those of Okabe and Ito (2008). A weight goes from white to dark blue, a
signed number from blue through white to orange: lightness alone tells how much, so both
survive a black-and-white printer and every kind of colour blindness.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

BLUE, ORANGE, GREEN, PINK, SKY, AMBER, YELLOW, BLACK = CATEGORIES = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#E69F00",
    "#F0E442",
    "#000000",
)
INK, GREY, PALE = "#222222", "#666666", "#DDDDDD"
WEIGHTS = LinearSegmentedColormap.from_list(
    "weights", ["#FFFFFF", "#CFE5F2", "#7FBBDD", "#2E86BD", "#0A5C93", "#06304F"]
)
SIGNED = LinearSegmentedColormap.from_list(
    "signed", ["#06304F", BLUE, "#A9D0E7", "#FFFFFF", "#F4C9A6", ORANGE, "#5E2A00"]
)
RULES: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.labelcolor": GREY,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=CATEGORIES),
    "xtick.color": GREY,
    "ytick.color": GREY,
    "text.color": INK,
    "axes.titlecolor": INK,
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.08,
    "svg.hashsalt": "clearhead",  # the same picture is the same file
    "svg.fonttype": "none",  # text stays text: it can be searched, and read aloud
}


@contextmanager
def in_style() -> Iterator[None]:
    """While a figure is made (also a decorator of what makes it)."""
    with mpl.rc_context(RULES):
        yield


def plain_log_ticks(axis: "Axis") -> None:
    """Numbers as people write them, 200 and not 2 × 10²; call it when all data are drawn."""
    low, high = sorted(axis.get_view_interval())
    axis.set_major_formatter("{x:,g}")
    if high < 5 * low:  # hardly any power of ten in sight
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
    elif high < 100 * low:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.set_minor_formatter("{x:,g}")
    else:
        axis.set_minor_formatter(NullFormatter())


def quiet_grid(axes: "Axes", axis: str = "y") -> None:
    """Lines to read a value by, behind the data."""
    axes.grid(axis=axis)  # type: ignore[arg-type]
