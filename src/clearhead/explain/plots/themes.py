"""A figure in the light and in the dark theme of the design: drawn once, saved twice.

Text stays text: it can be searched, and it uses a font of the reader.

In the dark theme every colour of the design is replaced by its dark counterpart. Colour maps
run from the surface to light blue instead of to dark blue, so a large weight stands out in both.
"""

import re
from dataclasses import dataclass

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from clearhead.explain.plots.plot import Plot
from clearhead.plot_style import SIGNED, WEIGHTS

DARK = {
    "#ffffff": "#1a1f26", "#000000": "#e7eaee", "#f7f7f5": "#12151a",  # surface, text, background
    "#1a1e24": "#e7eaee", "#5a636e": "#9aa4b0", "#e2e4e8": "#2b323b",  # text, muted, lines
    "#e6edfb": "#22304e",  # soft accent
    "#2456c9": "#8db0ff", "#b4500f": "#f0a266", "#0f7a63": "#5fcbb0", "#a13a86": "#e39ad0",
    "#8db0ff": "#4d7ae0", "#f0a266": "#c9722f", "#1a7f4b": "#5fd08f", "#b3361f": "#ff8f78",
}  # fmt: skip
# None of these colours is a key above, so that no colour is replaced twice.
_DARK_MAPS = {
    WEIGHTS.name: ["#1a1f26", "#21304e", "#3f5fa5", "#8cb0ff", "#c3d5ff", "#eef3ff"],
    SIGNED.name: [
        "#e7edfb", "#8cb0ff", "#2f4a85", "#1a1f26", "#7d4a1e", "#f0a267", "#fbe6d3",
    ],
}  # fmt: skip
_HEX = re.compile("|".join(DARK))


@dataclass(frozen=True)
class Themed:
    """One figure as two SVG texts, and its width in CSS pixels."""

    light: str
    dark: str
    width: int


def in_both_themes(figure: Figure) -> Themed:
    """Save a figure made in the style of this package in both themes.

    The figure's colour maps are those of the dark theme afterwards.
    """
    light = _svg(figure)
    for artist in figure.findobj(lambda found: isinstance(found, ScalarMappable)):
        assert isinstance(artist, ScalarMappable)
        artist.set_cmap(_dark_map(artist.get_cmap(), isinstance(artist, AxesImage)))
    dark = _HEX.sub(lambda found: DARK[found[0]], _svg(figure))
    return Themed(light, dark, round(96 * figure.get_figwidth()))


def _svg(figure: Figure) -> str:
    return Plot(figure).to_bytes("svg").decode()


def _dark_map(colours: Colormap, is_image: bool) -> Colormap:
    """The dark form of a colour map: the design's own, or each colour's counterpart.

    The colours of an image are pixels; all others are text in the SVG and replaced there.
    """
    if colours.name in _DARK_MAPS:
        return LinearSegmentedColormap.from_list(f"{colours.name}_dark", _DARK_MAPS[colours.name])
    if not is_image:
        return colours
    steps = [to_hex(colour) for colour in colours(np.linspace(0, 1, colours.N))]
    return ListedColormap([DARK.get(step, step) for step in steps], name=f"{colours.name}_dark")
