"""A finished plot: it shows itself in a notebook and is saved as SVG, PNG or PDF."""

import io
import logging
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.plot_style import RULES

logger = logging.getLogger(__name__)

KINDS = ("svg", "png", "pdf")
DPI = 150  # of a PNG
# Without dates: the same plot is the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
    "png": {},
}


@dataclass(frozen=True)
class Plot:
    """A matplotlib figure in the project's style; change `figure` before saving as you like."""

    figure: Figure
    rules: Any = field(default_factory=lambda: RULES, repr=False)  # they apply when saving, too

    def save(self, path: str | Path) -> None:
        """Write SVG, PNG or PDF, by the suffix of the path.

        Raises:
            UserError: another suffix, or the file cannot be written.
        """
        atomic_write(path, self.to_bytes(kind_of(Path(path))))

    def to_bytes(self, kind: str) -> bytes:
        """The content of the file that `save` writes."""
        stream = io.BytesIO()
        with mpl.rc_context(self.rules), warnings.catch_warnings(record=True) as caught:
            warnings.filterwarnings("always", message="Glyph .* missing", category=UserWarning)
            FigureCanvasAgg(self.figure)
            self.figure.savefig(stream, format=kind, dpi=DPI, metadata=_METADATA[kind])
        if caught and kind != "svg":  # an SVG uses the reader's own fonts
            logger.warning("the font lacks glyphs for some letters of this text; use svg instead")
        return stream.getvalue()

    def _repr_png_(self) -> bytes:
        return self.to_bytes("png")


def kind_of(path: Path, kinds: tuple[str, ...] = KINDS) -> str:
    """The format given by a file's suffix.

    Raises:
        UserError: it is none of `kinds`.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in kinds:
        found = f"unknown format {path.suffix!r}" if kind else "the name has no suffix"
        raise UserError(f"cannot write {path}: {found}; use one of .{', .'.join(kinds)}")
    return kind
