"""Writing an encoded corpus, chunk by chunk; the format stands in `encoded`."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from clearhead.data.pairs import Pair
from clearhead.errors import UserError
from clearhead.files import atomic_write

INDEX_TYPE = np.dtype([("first", "<u8"), ("source", "<u4"), ("target", "<u4")])
CHUNK = 2_000
"""Pairs that are encoded and written together."""

Encode = Callable[[list[str]], list[list[int]]]


def write_encoded(
    pairs: Iterable[Pair], encode_batch: Encode, directory: Path, max_length: int
) -> None:
    """Write tokens and index, then `meta.json`, which makes the directory count.

    Raises:
        UserError: the directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "meta.json").unlink(missing_ok=True)
        tokens_path, index_path = directory / "tokens.bin", directory / "index.bin"
        with tokens_path.open("w+b") as tokens, index_path.open("w+b") as index:
            writer = _Writer(tokens, index, max_length)
            for chunk in _chunks(pairs):
                sources = encode_batch([pair.source for pair in chunk])
                writer.write(sources, encode_batch([pair.target for pair in chunk]))
            for stream in (tokens, index):
                stream.flush()
                os.fsync(stream.fileno())
    except OSError as error:
        raise UserError(
            f"cannot write the encoded corpus to {directory}: {error.strerror or error}; "
            "free some space or choose a directory that you may write to"
        ) from error
    atomic_write(directory / "meta.json", json.dumps(writer.meta(), indent=2) + "\n")


class _Writer:
    """Appends chunks; ids take two bytes each until one does not fit."""

    def __init__(self, tokens: IO[bytes], index: IO[bytes], max_length: int) -> None:
        self.tokens, self.index, self.max_length = tokens, index, max_length
        self.pairs = self.skipped = self.token_count = 0
        self.dtype = "<u2"
        self.sha256 = hashlib.sha256()

    def write(self, sources: list[list[int]], targets: list[list[int]]) -> None:
        """Append the pairs that fit."""
        kept = [pair for pair in zip(sources, targets, strict=True) if self._fits(*pair)]
        self.skipped += len(sources) - len(kept)
        records = np.zeros(len(kept), dtype=INDEX_TYPE)
        records["source"] = [len(source) for source, _ in kept]
        records["target"] = [len(target) for _, target in kept]
        sizes = records["source"].astype(np.uint64) + records["target"]
        records["first"] = self.token_count + np.cumsum(sizes) - sizes
        ids = np.array([i for pair in kept for side in pair for i in side], dtype="<u4")
        if self.dtype == "<u2" and ids.max(initial=0) >= 2**16:
            _widen(self.tokens, self.token_count)
            self.dtype = "<u4"
        self.tokens.write(ids.astype(self.dtype).tobytes())
        self.index.write(records.tobytes())
        self.sha256.update(ids.tobytes() + records.tobytes())
        self.pairs += len(kept)
        self.token_count += len(ids)

    def meta(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "tokens": self.token_count,
            "skipped": self.skipped,
            "dtype": self.dtype,
            "digest": self.sha256.hexdigest(),
        }

    def _fits(self, source: list[int], target: list[int]) -> bool:
        return 0 < len(source) <= self.max_length and 0 < len(target) <= self.max_length


def _widen(stream: IO[bytes], count: int, step: int = 2**20) -> None:
    """Rewrite `count` 2-byte ids as 4-byte ids in place, from the end so that none is lost."""
    for start in reversed(range(0, count, step)):
        stream.seek(2 * start)
        narrow = np.frombuffer(stream.read(2 * min(step, count - start)), dtype="<u2")
        stream.seek(4 * start)
        stream.write(narrow.astype("<u4").tobytes())
    stream.seek(4 * count)


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    remaining = iter(pairs)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk
