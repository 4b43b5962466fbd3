"""Token ids on disk: byte ranges of large files, and texts as one long token stream in blocks.

tokens.bin   EOS, ids of text 0, EOS, ids of text 1, …, EOS   (uint16 or uint32)
meta.json    counts, type and digest; written last, so a directory without it is no corpus

A causal language model is trained on full rows: nothing is padded, no token is lost, and where
one text ends within a block, the separator between texts, the EOS token, marks it (GPT-2,
section 2.1).
"""

import hashlib
import json
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clearhead.data.ordering import Permutation, ResumableBatches
from clearhead.errors import UserError
from clearhead.files import atomic_save, atomic_write, record_checksums, verify_checksum

Corpus = TypeVar("Corpus")
Ids = NDArray[np.int64]
EncodeTexts = Callable[[list[str]], list[list[int]]]
CHUNK = 1_000
"""Texts that are encoded and written together."""
GAP = 512
"""Bytes: two ranges that are closer than this are read by one call."""
PADDING = -1
"""The id where the last block is not full."""


class SpanFile:
    """A file open for reading byte ranges; closed when it is no longer referenced.

    A memory map would be one line, but each page it touches counts as resident memory of the
    process; what `read` brings through the page cache of the operating system does not.

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
                f"{path} has {found} bytes, expected {size}; restore it from a copy, or start a "
                "new run, which encodes the text again"
            )

    def __reduce__(self) -> tuple[type["SpanFile"], tuple[Path, int]]:
        return SpanFile, (self.path, self.size)  # a worker process opens the file again

    def read(self, start: int, size: int) -> bytes:
        """Bytes start … start + size."""
        if hasattr(os, "pread"):  # safe when another thread reads from the same handle
            return os.pread(self._handle.fileno(), size, start)
        self._handle.seek(start)
        return self._handle.read(size)

    def gather(self, starts: Ids, ends: Ids) -> tuple[bytes, Ids]:
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
    """A corpus made from its directory and meta.json; a UserError for missing or damaged files."""
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


class PackedCorpus:
    """A packed sequence of ids; `PackedCorpus.build` makes one.

    Attributes:
        texts, tokens: their counts, separators included in the latter.
        digest: sha256 of the ids, by which a resumed run checks that its data is the same.
    """

    def __init__(self, directory: Path, meta: dict[str, Any]) -> None:
        self.texts, self.tokens = counts(meta, "texts", "tokens")
        self.digest = str(meta["digest"])
        self._type = token_type(meta)
        size = self.tokens * self._type.itemsize
        self._file = SpanFile(directory / "tokens.bin", size)

    @classmethod
    def build(
        cls,
        texts: Iterable[str],
        encode: EncodeTexts,
        separator: int,
        vocab_size: int,
        directory: Path,
        block: int = 1,
    ) -> "PackedCorpus":
        """Encode all texts, with a separator before, between and after them, to `directory`.

        Raises:
            UserError: the directory cannot be written, or the text has fewer tokens than a block.
        """
        dtype = "<u2" if vocab_size <= 2**16 else "<u4"
        meta: dict[str, Any] = {"texts": 0, "tokens": 0, "dtype": dtype}
        sha256 = hashlib.sha256()

        def write(path: Path) -> None:
            with path.open("wb") as stream:
                for count, ids in _stream(texts, encode, separator):
                    data = ids.astype(dtype).tobytes()
                    stream.write(data)
                    sha256.update(data)
                    meta["texts"] += count
                    meta["tokens"] += len(ids)

        (directory / "meta.json").unlink(missing_ok=True)
        atomic_save(directory / "tokens.bin", write)
        _check_size(meta["tokens"], block)
        meta["digest"] = sha256.hexdigest()
        atomic_write(directory / "meta.json", json.dumps(meta, indent=2) + "\n")
        record_checksums(directory, ("meta.json", "tokens.bin"))
        return cls.open(directory)

    @classmethod
    def open(cls, directory: Path) -> "PackedCorpus":
        """Open what `build` wrote; a UserError if it is not complete or damaged."""
        return open_verified(directory, ("tokens.bin",), cls)

    def read(self, start: int, count: int) -> Ids:
        """Ids start … start + count, fewer at the end of the stream."""
        width = self._type.itemsize
        count = max(0, min(count, self.tokens - start))
        raw = self._file.read(start * width, count * width)
        return np.frombuffer(raw, dtype=self._type).astype(np.int64)


def _stream(texts: Iterable[str], encode: EncodeTexts, separator: int) -> Iterator[tuple[int, Ids]]:
    """Chunks: their number of texts, and the ids, a separator before each text; one at the end."""
    remaining = iter(texts)
    while chunk := list(islice(remaining, CHUNK)):
        ids = [i for row in encode(chunk) for i in (separator, *row)]
        yield len(chunk), np.array(ids, dtype=np.int64)
    yield 0, np.array([separator], dtype=np.int64)


def _check_size(tokens: int, block: int) -> None:
    if tokens < block:
        raise UserError(
            f"the text has {tokens} tokens, fewer than one block of {block}; "
            "give more text, or a smaller --set model.seq_len"
        )


@dataclass(frozen=True)
class BlockPlan:
    """How a token stream is cut: block k holds ids k · length … (k + 1) · length + ahead.

    `ahead` = 1 for a model that predicts the next token: then each id but the first is a label
    in exactly one block, and the last label of a block is the first input of the next.
    """

    length: int
    ahead: int
    rows: int
    seed: int


@dataclass(frozen=True)
class Blocks:
    """A batch: ids (rows, length + ahead), and its position in the data."""

    ids: Ids
    epoch: int
    index: int


class BlockBatches(ResumableBatches[Blocks]):
    """An endless sequence of batches: each block (at least one) once an epoch, in a new order."""

    def __init__(self, corpus: PackedCorpus, plan: BlockPlan) -> None:
        _check_size(corpus.tokens - plan.ahead, plan.length)
        self.corpus, self.plan = corpus, plan
        self.epoch = self.index = 0

    @property
    def blocks(self) -> int:
        """Blocks in an epoch."""
        return -(-(self.corpus.tokens - self.plan.ahead) // self.plan.length)

    def __next__(self) -> Blocks:
        plan, total = self.plan, self.blocks
        first = self.index * plan.rows
        positions = np.arange(first, min(first + plan.rows, total), dtype=np.int64)
        chosen = Permutation(total, plan.seed, self.epoch)(positions)
        batch = Blocks(rows_of(self.corpus, plan, chosen.tolist()), self.epoch, self.index)
        self.index += 1
        if self.index * plan.rows >= total:
            self.epoch, self.index = self.epoch + 1, 0
        return batch

    def _settings(self) -> dict[str, int]:
        plan = self.plan
        return {
            "seed": plan.seed,
            "length": plan.length,
            "rows": plan.rows,
            "digest": int(self.corpus.digest[:15], 16),
        }


def rows_of(corpus: PackedCorpus, plan: BlockPlan, indices: list[int]) -> Ids:
    """The blocks with these indices, (rows, length + ahead); the last may end in `PADDING`."""
    ids = np.full((len(indices), plan.length + plan.ahead), PADDING, dtype=np.int64)
    for row, index in zip(ids, indices, strict=True):
        found = corpus.read(index * plan.length, plan.length + plan.ahead)
        row[: len(found)] = found
    return ids
