"""Where a verb writes: results to standard output, a file or a pipe; messages to stderr."""

import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from clearhead.errors import UserError
from clearhead.files import atomic_save, is_special


def check_output(output: Path | None) -> None:
    """Refuse a directory as output, before torch is imported."""
    if output and output.is_dir():
        raise UserError(f"cannot write {output}: it is a directory; give the name of a file")


def pour(parts: Iterable[bytes], output: Path | None) -> None:
    """Write each part to standard output as it comes; a file appears complete or not at all."""

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


@contextmanager
def warnings_on_stderr(quiet: bool) -> Iterator[None]:
    """Print warnings of `clearhead` loggers, which engine runs, and progress.

    `quiet` leaves errors only.
    """
    logger = logging.getLogger("clearhead")
    for name in ("clearhead.decoding.choice", "clearhead.translation.translator"):
        logging.getLogger(name).setLevel(logging.INFO)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter())
    handler.setLevel(logging.ERROR if quiet else logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Formatter(logging.Formatter):
    """``clearhead: message``, and from warnings on their level before the message."""

    def format(self, record: logging.LogRecord) -> str:
        level = f"{record.levelname.lower()}: " if record.levelno > logging.INFO else ""
        return f"clearhead: {level}{record.getMessage()}"
