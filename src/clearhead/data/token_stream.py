"""Texts as one long token stream on disk, read in blocks of one length, in a random order.

tokens.bin   EOS, ids of text 0, EOS, ids of text 1, …, EOS   (uint16 or uint32)
meta.json    counts, type and digest; written last, so a directory without it is no corpus

A language model is trained on full rows: nothing is padded, no token is lost, and where one text
ends within a block, the separator between texts (the EOS token, or [SEP]) marks it (GPT-2,
section 2.1).
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.data.encoded_files import SpanFile, counts, open_verified, token_type
from clearhead.data.ordering import Permutation, ResumableBatches
from clearhead.errors import UserError
from clearhead.files import atomic_save, atomic_write, record_checksums

Ids = NDArray[np.int64]
EncodeTexts = Callable[[list[str]], list[list[int]]]
CHUNK = 1_000
"""Texts that are encoded and written together."""
PADDING = -1
"""The id where the last block is not full."""


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
        """Open what `build` wrote.

        Raises:
            UserError: the directory holds no complete corpus, or a damaged one.
        """
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
    """An endless sequence of batches: each block once an epoch, each epoch in another order.

    Raises:
        UserError: the token stream is shorter than a block.
    """

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
