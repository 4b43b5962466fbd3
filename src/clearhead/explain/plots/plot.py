"""A finished plot in a light or a dark theme: shown in a notebook, or saved as SVG, PNG or PDF.

Text stays text: it can be searched, and it uses a font of the reader.

In the dark theme every colour of the design is replaced by its dark counterpart. Colour maps run
from the surface to light blue instead of to dark blue, so a large weight stands out in both.
"""

import io
import logging
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.plot_style import RULES, SIGNED, WEIGHTS

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
    light = Plot(figure).to_bytes("svg").decode()
    for artist in figure.findobj(lambda found: isinstance(found, ScalarMappable)):
        assert isinstance(artist, ScalarMappable)
        artist.set_cmap(_dark_map(artist.get_cmap(), isinstance(artist, AxesImage)))
    dark = _HEX.sub(lambda found: DARK[found[0]], Plot(figure).to_bytes("svg").decode())
    return Themed(light, dark, round(96 * figure.get_figwidth()))


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


logger = logging.getLogger(__name__)

KINDS = ("svg", "png", "pdf")
DPI = 150  # of a PNG
# Without dates: the same plot is the same bytes.
_METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}, "png": {}}


@dataclass(frozen=True)
class Plot:
    """A matplotlib figure in the project's style; change `figure` before saving as you like."""

    figure: Figure

    def save(self, path: str | Path) -> None:
        """Write SVG, PNG or PDF, by the suffix of the path.

        Raises:
            UserError: another suffix, or the file cannot be written.
        """
        atomic_write(path, self.to_bytes(kind_of(Path(path))))

    def to_bytes(self, kind: str) -> bytes:
        """The content of the file that `save` writes."""
        stream = io.BytesIO()
        with mpl.rc_context(RULES), warnings.catch_warnings(record=True) as caught:
            warnings.filterwarnings("always", message="Glyph .* missing", category=UserWarning)
            FigureCanvasAgg(self.figure)
            self.figure.savefig(stream, format=kind, dpi=DPI, metadata=_METADATA[kind])
        if caught and kind != "svg":  # an SVG uses the reader's own fonts
            logger.warning("the font lacks glyphs for some letters of this text; use svg instead")
        return stream.getvalue()

    def _repr_png_(self) -> bytes:
        return self.to_bytes("png")


def kind_of(path: Path) -> str:
    """The format given by a file's suffix.

    Raises:
        UserError: it is none of `KINDS`.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        found = f"unknown format {path.suffix!r}" if kind else "the name has no suffix"
        raise UserError(f"cannot write {path}: {found}; use one of .{', .'.join(KINDS)}")
    return kind
