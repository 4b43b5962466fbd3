"""The native library of this checkout, compiled where a C source is newer than it."""

from clearhead.native.building import LIBRARY, SOURCES, compile_library
from clearhead.native.model import kernel_names


def _is_current() -> bool:
    if not LIBRARY.exists():
        return False
    newest = max(path.stat().st_mtime for path in SOURCES.glob("*.[ch]"))
    return LIBRARY.stat().st_mtime >= newest


# Several processes may compile at once: each replaces the file atomically.
REASON = "" if _is_current() else compile_library()  # why there is no library, or ""
KERNELS = [] if REASON else kernel_names()
