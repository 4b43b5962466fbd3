"""Where a command's answers go: standard output, a file, or a pipe with a name."""

import sys
from collections.abc import Iterable
from pathlib import Path

from clearhead.errors import UserError
from clearhead.files import atomic_save, is_special


def check_output(output: Path | None) -> None:
    """What can be said before torch is loaded."""
    if output and output.is_dir():
        raise UserError(f"cannot write {output}: it is a directory; give the name of a file")


def pour(parts: Iterable[bytes], output: Path | None) -> None:
    """To standard output part by part, as they come; a file appears whole or not at all."""

    def fill(path: Path) -> None:
        with path.open("wb") as file:
            for part in parts:
                file.write(part)

    if output is None:
        for part in parts:
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()
    elif is_special(output):  # here too part by part
        fill(output)
    else:
        atomic_save(output, fill)
