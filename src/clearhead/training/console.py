"""The console and train.log of a run: log lines, and on a terminal a progress bar below them."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from clearhead.errors import UserError

log = logging.getLogger("clearhead")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Train on without a reader; rich itself would exit."""
        self.quiet = True


# On the standard error of the moment; rich itself respects NO_COLOR. Without emoji, because a
# corpus may be called grammar:train:2000.
CONSOLE = _Console(stderr=True, highlight=False, emoji=False)
# Records that the progress bar already shows: they are written to train.log only.
STEPS = "clearhead.train.steps"
REFRESH = 5  # times a second


def on_terminal() -> bool:
    """Whether standard error can show a progress bar."""
    return sys.stderr.isatty() and not CONSOLE.is_dumb_terminal


@contextmanager
def shown() -> Iterator[None]:
    """Within, log records go to standard error, above the progress bar if there is one."""
    with _attached(_ConsoleHandler()):
        yield


@contextmanager
def kept(path: Path) -> Iterator[None]:
    """Within, log records are appended to the file `path`, with the time.

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
        if record.name == STEPS and on_terminal():
            return
        with suppress(OSError):  # a full disk under standard error must not end the training
            CONSOLE.print(self.format(record), markup=False, soft_wrap=True)


class _FileHandler(logging.FileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore a full disk: writing the checkpoint will report it."""


class ProgressBar:
    """Within, two lines below the log show the steps and the newest measurements."""

    def __init__(self, steps: int) -> None:
        self.progress = Progress(
            TextColumn("step"), MofNCompleteColumn(), BarColumn(None), TaskProgressColumn(),
            console=CONSOLE, expand=True,
        )  # fmt: skip
        self.task = self.progress.add_task("", total=steps)
        self.text = Text("first step …", no_wrap=True, overflow="ellipsis")
        self.live = Live(
            Group(self.progress, self.text), console=CONSOLE, refresh_per_second=REFRESH
        )

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.live.stop()

    def show(self, step: int, line: str) -> None:
        """Show `step`, and `line` with its measurements."""
        self.progress.update(self.task, completed=step)
        self.text.plain = line
