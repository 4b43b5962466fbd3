"""Ctrl-C between two steps, never within one: a half-made step must not be saved."""

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Self

STOP = (signal.SIGINT, signal.SIGTERM)
STDERR = 2


class Interrupt:
    """Within, the first Ctrl-C (or SIGTERM, a scheduler's way to say it) sets `asked`.

    The loop looks at it after every step. A second one leaves at once, unsaved.
    Python allows signal handlers in the main thread only; elsewhere nothing changes.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in STOP}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        # Not through the log: it may be in the middle of a line.
        os.write(STDERR, b"\nstopping after this step; once more to leave at once\n")
