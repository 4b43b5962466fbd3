"""The style of every plot: the design's colours, few lines, plain numbers on the axes.

Lines and bars use the colours of the heads in the attention view. A weight goes from white to
dark blue, a signed value from blue through white to orange: lightness alone shows the magnitude,
so both can be read in print and with any colour vision.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

BLUE, ORANGE, GREEN, PINK, SKY, AMBER, YELLOW, BLACK = CATEGORIES = (
    "#2456c9", "#b4500f", "#0f7a63", "#a13a86", "#8db0ff", "#f0a266", "#f2dc5d", "#1a1e24",
)  # fmt: skip
INK, GREY, PALE = "#1a1e24", "#5a636e", "#e2e4e8"
WEIGHTS = LinearSegmentedColormap.from_list(
    "weights", ["#ffffff", "#d6e0f8", "#8fabec", BLUE, "#173a8c", "#0c1f4f"]
)
SIGNED = LinearSegmentedColormap.from_list(
    "signed", ["#0c1f4f", BLUE, "#b3c6f3", "#ffffff", "#f6cda8", ORANGE, "#4f2205"]
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
    "svg.hashsalt": "clearhead",  # the same plot is the same file
    "svg.fonttype": "none",  # text stays text: it can be searched, and read by a screen reader
}


@contextmanager
def in_style() -> Iterator[None]:
    """Apply the style while a figure is made; also a decorator."""
    with mpl.rc_context(RULES):
        yield


def plain_log_ticks(axis: Axis) -> None:
    """Label a logarithmic axis with 200, not 2 × 10²; to be called when all data are drawn."""
    low, high = sorted(axis.get_view_interval())
    axis.set_major_formatter("{x:,g}")
    if high < 5 * low:  # hardly any power of ten in view
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
    elif high < 100 * low:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.set_minor_formatter("{x:,g}")
    else:
        axis.set_minor_formatter(NullFormatter())


def whole_ticks(axis: Axis) -> None:
    """Label an axis of steps at whole numbers only."""
    axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    axis.set_major_formatter("{x:,.0f}")


def quiet_grid(axes: Axes) -> None:
    """Draw horizontal grid lines behind the data."""
    axes.grid(axis="y")
