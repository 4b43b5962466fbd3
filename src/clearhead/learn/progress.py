"""The learner's progress: one small file in her folder, which survives crashes and moving."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from clearhead.errors import UserError
from clearhead.files import atomic_write

FILE = ".clearhead-learn.json"
FORMAT = 1


@dataclass
class Progress:
    """What has been passed, which hints were shown, and the texts that were handed out."""

    passed: dict[str, str] = field(default_factory=dict)  # name -> the score's text
    hints: dict[str, int] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    mistakes: dict[str, list[str]] = field(default_factory=dict)
    rubric: dict[str, list[bool]] = field(default_factory=dict)
    handed_out: dict[str, str] = field(default_factory=dict)  # name -> digest of the file
    skipped: list[str] = field(default_factory=list)  # chapters tested out of

    @staticmethod
    def load(folder: Path) -> "Progress":
        """The progress of a folder.

        Raises:
            UserError: the file is damaged, or written by a later version.
        """
        path = folder / FILE
        try:
            table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if table.pop("format") != FORMAT:
                raise UserError(f"{path} was written by a later version; install that one")
            return Progress(**table)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, UserError):
                raise
            raise UserError(
                f"cannot read {path}: {error}; delete it and run `clearhead learn start "
                f"{folder}` (your answers stay)"
            ) from error

    def save(self, folder: Path) -> None:
        """Write the file; the old one stays whole until the new one is."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False)
        atomic_write(folder / FILE, text + "\n")


def digest(text: str) -> str:
    """A short hash by which a file that was never edited is recognised."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def find_folder(start: Path) -> Path:
    """The folder of exercises that `start` is in.

    Raises:
        UserError: it is in none.
    """
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder
    raise UserError(
        f"{start} is not in a folder of exercises; `clearhead learn start DIR` makes one, "
        "then `cd DIR`"
    )
