"""The files of an encoded corpus: byte ranges of large files, and meta.json, which describes them.

A memory map would replace `SpanFile` by one line, but each page it touches counts as resident
memory of the process; what `read` brings through the page cache of the operating system does not.
"""

import json
import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError
from clearhead.files import verify_checksum

Corpus = TypeVar("Corpus")
GAP = 512
"""Bytes: two ranges that are closer than this are read by one call."""


class SpanFile:
    """A file open for reading byte ranges; closed when it is no longer referenced.

    Raises:
        UserError: the file has another size than `size`.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self._handle = path.open("rb", buffering=0)
        weakref.finalize(self, self._handle.close)
        found = os.fstat(self._handle.fileno()).st_size
        if found != size:
            raise UserError(
                f"{path} has {found} bytes, expected {size}; "
                f"delete the directory {path.parent} and encode the corpus again"
            )

    def __reduce__(self) -> tuple[type["SpanFile"], tuple[Path, int]]:
        return SpanFile, (self.path, self.size)  # a worker process opens the file again

    def read(self, start: int, size: int) -> bytes:
        """Bytes start … start + size."""
        if hasattr(os, "pread"):  # safe when another thread reads from the same handle
            return os.pread(self._handle.fileno(), size, start)
        self._handle.seek(start)
        return self._handle.read(size)

    def gather(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[bytes, NDArray[np.int64]]:
        """Read the ranges starts[i] … ends[i]; `starts` ascends.

        Returns:
            A buffer that holds all ranges, and the offset of each in it.
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


def open_verified(
    directory: Path, files: Sequence[str], make: Callable[[Path, dict[str, Any]], Corpus]
) -> Corpus:
    """A corpus made from its directory and meta.json, after their checksums have been compared.

    Raises:
        UserError: a file is missing or damaged.
    """
    for name in ("meta.json", *files):
        verify_checksum(directory / name)
    try:
        return make(directory, json.loads((directory / "meta.json").read_text(encoding="utf-8")))
    except UserError:
        raise
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(
            f"{directory} holds no complete encoded corpus ({error}); restore it from a copy, or "
            "start a new run, which encodes the text again"
        ) from None


def counts(meta: dict[str, Any], *names: str) -> list[int]:
    """The values of these keys: integers ≥ 0."""
    values = [meta[name] for name in names]
    if any(type(value) is not int or not 0 <= value < 2**60 for value in values):
        raise ValueError(f"{', '.join(names)} are not all integers of at least 0")
    return values


def token_type(meta: dict[str, Any]) -> np.dtype[Any]:
    """The type of the token ids."""
    if meta["dtype"] not in ("<u2", "<u4"):
        raise ValueError(f"dtype is {meta['dtype']!r}, expected <u2 or <u4")
    return np.dtype(meta["dtype"])
