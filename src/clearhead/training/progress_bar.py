"""Two living lines at the foot of a terminal: how far, and how it goes."""

from types import TracebackType
from typing import Self

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from clearhead.training.console import CONSOLE

REFRESH = 5  # times a second


class ProgressBar:
    """Within, the lines stand below the log."""

    def __init__(self, steps: int) -> None:
        self.progress = Progress(
            TextColumn("step"), MofNCompleteColumn(), BarColumn(None), TaskProgressColumn(),
            console=CONSOLE, expand=True,
        )  # fmt: skip
        self.task = self.progress.add_task("", total=steps)
        self.text = Text("the first step …", no_wrap=True, overflow="ellipsis")
        self.live = Live(
            Group(self.progress, self.text), console=CONSOLE, refresh_per_second=REFRESH
        )

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.live.stop()

    def show(self, step: int, line: str) -> None:
        """Move to `step`; `line` is how it goes."""
        self.progress.update(self.task, completed=step)
        self.text.plain = line
