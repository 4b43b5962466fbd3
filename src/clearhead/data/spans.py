"""Reading many small pieces of one large file, with few calls and flat memory.

A memory map would do it in one line, but every page it touches counts as
resident memory of the process; what `read` brings through the page cache of the
operating system does not.
"""

import os
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError

GAP = 512
"""Bytes: two pieces that lie closer than this are fetched by one call."""


class SpanFile:
    """A file open for reading byte ranges; closed when it is no longer referenced.

    Raises:
        UserError: the file has another size than `size`.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self._handle = path.open("rb", buffering=0)
        weakref.finalize(self, self._handle.close)
        found = os.fstat(self._handle.fileno()).st_size
        if found != size:
            raise UserError(
                f"{path} holds {found} bytes, expected {size}; "
                f"delete the directory {path.parent} and encode the corpus again"
            )

    def read(self, start: int, size: int) -> bytes:
        """Bytes start … start + size."""
        if hasattr(os, "pread"):  # safe beside another reader of the same handle
            return os.pread(self._handle.fileno(), size, start)
        self._handle.seek(start)
        return self._handle.read(size)

    def gather(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[bytes, NDArray[np.int64]]:
        """Fetch the pieces starts[i] … ends[i]; `starts` ascends.

        Returns:
            A buffer that holds all pieces, and where in it each one begins.
        """
        if not len(starts):
            return b"", np.zeros(0, dtype=np.int64)
        firsts = np.flatnonzero(np.r_[True, starts[1:] > ends[:-1] + GAP])
        lasts = np.r_[firsts[1:], len(starts)] - 1
        span_starts, span_ends = starts[firsts], ends[lasts]
        sizes = span_ends - span_starts
        buffer = b"".join(map(self.read, span_starts.tolist(), sizes.tolist()))
        shift = np.cumsum(sizes) - sizes - span_starts
        return buffer, starts + np.repeat(shift, lasts - firsts + 1)
