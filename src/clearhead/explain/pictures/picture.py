"""A finished picture: shows itself in a notebook, saves itself anywhere, without a browser."""

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

logger = logging.getLogger(__name__)

KINDS = ("svg", "png", "pdf")
DOTS = 150  # an inch, of a PNG
# A file says what it shows, not when it was made: the same picture is the same bytes.
_UNDATED: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
    "png": {},
}


@dataclass(frozen=True)
class Picture:
    """A matplotlib figure in our style; `figure` is yours to change before you save."""

    figure: Figure
    rules: Any = field(
        default=None, repr=False
    )  # of matplotlib; they matter when it is written, too

    def save(self, path: str | Path) -> None:
        """Write SVG, PNG or PDF, by the ending of the name.

        Raises:
            UserError: another ending, or the file cannot be written.
        """
        atomic_write(path, self.to_bytes(kind_of(Path(path))))

    def to_bytes(self, kind: str) -> bytes:
        """The file as it would be written."""
        stream = io.BytesIO()
        with mpl.rc_context(self.rules), warnings.catch_warnings(record=True) as caught:
            warnings.filterwarnings("always", message="Glyph .* missing", category=UserWarning)
            FigureCanvasAgg(self.figure)
            self.figure.savefig(stream, format=kind, dpi=DOTS, metadata=_UNDATED[kind])
        if caught and kind != "svg":  # an SVG's letters come from the reader's own fonts
            logger.warning("the font has no sign for some letters of this text; svg has them all")
        return stream.getvalue()

    def _repr_png_(self) -> bytes:
        return self.to_bytes("png")


def kind_of(path: Path, kinds: tuple[str, ...] = KINDS) -> str:
    """The format that a file's ending asks for.

    Raises:
        UserError: none of `kinds`.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in kinds:
        found = f"a file that ends in {path.suffix!r}" if kind else "a file without an ending"
        raise UserError(
            f"cannot write {path}: {found} is no picture we can write; "
            f"give one that ends in .{', .'.join(kinds)}"
        )
    return kind
