"""What a run says goes to the console and, with the time, to its train.log."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from clearhead.errors import UserError

log = logging.getLogger("clearhead")

# On stderr, wherever that leads at the moment; rich itself looks at NO_COLOR. What a corpus is
# called stays as it is: grammar:train:2000 holds no picture of a train.
CONSOLE = Console(stderr=True, highlight=False, emoji=False)
# Records that the progress bar shows already, so that only train.log wants them.
STEPS = "clearhead.train.steps"


def on_terminal() -> bool:
    """Whether a moving progress bar makes sense."""
    return sys.stderr.isatty() and not CONSOLE.is_dumb_terminal


@contextmanager
def shown() -> Iterator[None]:
    """Within, the log goes to stderr, above the progress bar if there is one."""
    with _attached(_ConsoleHandler()):
        yield


@contextmanager
def kept(path: Path) -> Iterator[None]:
    """Within, the log goes to `path`, after what stands there.

    Raises:
        UserError: the file cannot be opened.
    """
    try:
        file = _FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror}; choose a --run-dir that you may write to"
        ) from error
    file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    with _attached(file):
        yield


@contextmanager
def _attached(handler: logging.Handler) -> Iterator[None]:
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        handler.close()


class _ConsoleHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if not (record.name == STEPS and on_terminal()):
            CONSOLE.print(self.format(record), markup=False, soft_wrap=True)


class _FileHandler(logging.FileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk must not cover the screen with tracebacks: the checkpoint will say it."""
