"""A corpus as token ids on disk, written chunk by chunk and read in any order with flat memory.

tokens.bin   source ids and target ids of pair 0, of pair 1, …   (uint16 or uint32)
index.bin    for each pair: first token, source length, target length   (16 bytes)
meta.json    counts, type and digest; written last, so a directory without it is no corpus
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clearhead.data.pairs import Pair
from clearhead.data.token_stream import SpanFile, counts, open_verified, token_type
from clearhead.errors import UserError
from clearhead.files import atomic_write, forget_checksum, record_checksums

INDEX_TYPE = np.dtype([("first", "<u8"), ("source", "<u4"), ("target", "<u4")])
CHUNK = 2_000
"""Pairs that are encoded and written together."""
CHECKED = 1 << 16
"""Records of the index that are checked together."""

Encode = Callable[[list[str]], list[list[int]]]
Sides = tuple[list[int], list[int]]
Item = TypeVar("Item")
Ids = NDArray[np.unsignedinteger[Any]]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Some pairs of a corpus: row i begins at tokens[starts[i]], target after source.

    The lengths count tokens without special tokens; between the rows, `tokens` may hold tokens of
    other pairs.
    """

    tokens: Ids
    starts: Ints
    source_lengths: Ints
    target_lengths: Ints


class EncodedCorpus:
    """Pairs of token ids without special tokens; `EncodedCorpus.build` makes one.

    Attributes:
        directory: its location.
        skipped: pairs left out when it was built: too long, or without tokens.
        token_count: source and target tokens together.
        digest: sha256 of all ids and lengths, by which a resumed run checks that its data is the
            same.
    """

    def __init__(self, directory: Path, meta: dict[str, Any]) -> None:
        self.directory = directory
        self.skipped, self.token_count, self._size = counts(meta, "skipped", "tokens", "pairs")
        self.digest = str(meta["digest"])
        self._type = token_type(meta)
        token_bytes = self.token_count * self._type.itemsize
        self._tokens = SpanFile(directory / "tokens.bin", token_bytes)
        self._index = SpanFile(directory / "index.bin", self._size * INDEX_TYPE.itemsize)
        self._check_index()

    @classmethod
    def build(
        cls, pairs: Iterable[Pair], encode_batch: Encode, directory: Path, max_length: int
    ) -> "EncodedCorpus":
        """Encode every pair and write it to `directory`, replacing an existing corpus.

        Args:
            encode_batch: texts to ids without special tokens.
            max_length: pairs with more tokens than this on a side are skipped and counted.

        Raises:
            UserError: the directory cannot be written, or no pair is left.
        """

        def fits(sides: Sides) -> bool:
            return all(0 < len(side) <= max_length for side in sides)

        _write(_encoded(pairs, encode_batch), Path(directory), fits)
        return cls.open(directory)

    @classmethod
    def build_rows(
        cls, texts: Iterable[str], encode_rows: Encode, directory: Path
    ) -> "EncodedCorpus":
        """Write rows of ids without targets: all rows of a text, of which a long one has several.

        Args:
            encode_rows: texts to the rows of all of them.

        Raises:
            UserError: the directory cannot be written.
        """
        rows = (encode_rows(chunk) for chunk in _chunks(texts))
        _write(([(row, []) for row in part] for part in rows), Path(directory), any)
        return cls.open(directory)

    @classmethod
    def open(cls, directory: Path) -> "EncodedCorpus":
        """Open what `build` wrote; a UserError if it is not complete or damaged."""
        return open_verified(Path(directory), ("tokens.bin", "index.bin"), cls)

    def __len__(self) -> int:
        return self._size

    def lengths(self, start: int, stop: int) -> tuple[Ints, Ints]:
        """Source and target lengths of pairs start … stop, in tokens without special tokens."""
        records = self._index_of(max(0, start), stop)
        return records["source"].astype(np.int64), records["target"].astype(np.int64)

    def read(self, indices: Ints) -> Rows:
        """Read pairs by index, in the given order; an IndexError outside range(len(self))."""
        wanted = np.asarray(indices, dtype=np.int64)
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < self._size):
            raise IndexError(f"indices of pairs are 0 … {self._size - 1}")
        order = np.argsort(wanted, kind="stable")  # the file is read forwards
        records = self._records(wanted[order])
        firsts = records["first"].astype(np.int64)
        sources, targets = (records[side].astype(np.int64) for side in ("source", "target"))
        width = self._type.itemsize
        raw, offsets = self._tokens.gather(firsts * width, (firsts + sources + targets) * width)
        back = np.argsort(order, kind="stable")
        tokens = np.frombuffer(raw, dtype=self._type)
        return Rows(tokens, (offsets // width)[back], sources[back], targets[back])

    def get(self, indices: Ints) -> list[tuple[Ids, Ids]]:
        """Pairs by index, in the given order: (source ids, target ids) each."""
        rows = self.read(indices)
        middles = rows.starts + rows.source_lengths
        ends = middles + rows.target_lengths
        bounds = zip(rows.starts.tolist(), middles.tolist(), ends.tolist(), strict=True)
        return [(rows.tokens[a:b], rows.tokens[b:c]) for a, b, c in bounds]

    def _check_index(self) -> None:
        """Refuse an index in which a pair does not begin where the one before it ends."""
        end = 0
        for start in range(0, self._size, CHECKED):
            records = self._index_of(start, start + CHECKED)
            sizes = records["source"].astype(np.uint64) + records["target"]
            firsts = np.uint64(end) + np.cumsum(sizes) - sizes
            if not np.array_equal(records["first"], firsts):
                break
            end += int(sizes.sum())
        if end != self.token_count:
            raise UserError(
                f"{self.directory / 'index.bin'} is damaged; restore it from a copy, or start a "
                "new run"
            )

    def _index_of(self, start: int, stop: int) -> NDArray[np.void]:
        """The records of pairs start … stop."""
        size = INDEX_TYPE.itemsize
        raw = self._index.read(start * size, max(0, min(stop, self._size) - start) * size)
        return np.frombuffer(raw, dtype=INDEX_TYPE)

    def _records(self, ascending: Ints) -> NDArray[np.void]:
        starts = ascending * INDEX_TYPE.itemsize
        raw, offsets = self._index.gather(starts, starts + INDEX_TYPE.itemsize)
        everything = np.frombuffer(raw, dtype=INDEX_TYPE)
        return everything[offsets // INDEX_TYPE.itemsize]


def _encoded(pairs: Iterable[Pair], encode_batch: Encode) -> Iterator[list[Sides]]:
    for chunk in _chunks(pairs):
        sources = encode_batch([pair.source for pair in chunk])
        targets = encode_batch([pair.target for pair in chunk])
        yield list(zip(sources, targets, strict=True))


def _write(chunks: Iterable[list[Sides]], directory: Path, fits: Callable[[Sides], bool]) -> None:
    """Write tokens and index, then, unless they are empty, the `meta.json` that a corpus needs."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "meta.json").unlink(missing_ok=True)
        tokens_path, index_path = directory / "tokens.bin", directory / "index.bin"
        for path in (tokens_path, index_path):
            forget_checksum(path)
        with tokens_path.open("w+b") as tokens, index_path.open("w+b") as index:
            writer = _Writer(tokens, index, fits)
            for chunk in chunks:
                writer.write(chunk)
            for stream in (tokens, index):
                stream.flush()
                os.fsync(stream.fileno())
    except OSError as error:
        raise UserError(
            f"cannot write the encoded corpus to {directory}: {error.strerror or error}; "
            "free some space or choose a directory that you may write to"
        ) from error
    if not writer.pairs:
        raise UserError(
            f"no pair is left to train on ({writer.skipped} were too long or empty); "
            "give more text, or a larger maximum length"
        )
    atomic_write(directory / "meta.json", json.dumps(writer.meta(), indent=2) + "\n")
    record_checksums(directory, ("meta.json", "tokens.bin", "index.bin"))


class _Writer:
    """Appends chunks; ids take 2 bytes each, and 4 from the first id that needs them."""

    def __init__(self, tokens: IO[bytes], index: IO[bytes], fits: Callable[[Sides], bool]) -> None:
        self.tokens, self.index, self.fits = tokens, index, fits
        self.pairs = self.skipped = self.token_count = 0
        self.dtype = "<u2"
        self.sha256 = hashlib.sha256()

    def write(self, chunk: list[Sides]) -> None:
        """Append the pairs whose lengths are allowed."""
        kept = list(filter(self.fits, chunk))
        self.skipped += len(chunk) - len(kept)
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


def _widen(stream: IO[bytes], count: int, step: int = 2**20) -> None:
    """Rewrite `count` 2-byte ids as 4-byte ids in place, from the end, so that none is lost."""
    for start in reversed(range(0, count, step)):
        stream.seek(2 * start)
        narrow = np.frombuffer(stream.read(2 * min(step, count - start)), dtype="<u2")
        stream.seek(4 * start)
        stream.write(narrow.astype("<u4").tobytes())
    stream.seek(4 * count)


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    remaining = iter(items)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk
