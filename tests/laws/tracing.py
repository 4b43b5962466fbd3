"""Which functions of the library a call executes, in the order of their first calls."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from tests.laws.tree import SOURCE


def executed(call: Callable[[], object]) -> list[str]:
    """Names such as ``blocks/encoder.py Encoder.forward``, of this thread and those it starts."""
    found: dict[str, None] = {}  # ordered, and each once

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(SOURCE):
            found[f"{path.relative_to(SOURCE).as_posix()} {frame.f_code.co_qualname}"] = None

    before = sys.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return list(found)
