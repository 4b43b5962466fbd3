"""A corpus as token ids on disk, read back in any order with flat memory.

tokens.bin   source ids and target ids of pair 0, of pair 1, …   (uint16 or uint32)
index.bin    for each pair: first token, source length, target length   (16 bytes)
meta.json    counts, type and digest; written last, so a directory without it is no corpus
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.data.encoded_writer import INDEX_TYPE, write_encoded
from clearhead.data.pairs import Pair
from clearhead.data.spans import SpanFile
from clearhead.errors import UserError

Ids = NDArray[np.unsignedinteger[Any]]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Some pairs of a corpus: row i begins at tokens[starts[i]], target after source.

    The lengths count tokens, without specials; `tokens` may hold others' tokens in between.
    """

    tokens: Ids
    starts: Ints
    source_lengths: Ints
    target_lengths: Ints


class EncodedCorpus:
    """Pairs of token ids, without specials; `EncodedCorpus.build` makes one.

    Attributes:
        directory: where it lies.
        skipped: pairs left out when it was built: too long, or without tokens.
        token_count: source and target tokens together.
        digest: sha256 of all ids and lengths; a resumed run can see that its data is the same.
    """

    def __init__(self, directory: Path, meta: dict[str, Any]) -> None:
        self.directory = directory
        self.skipped: int = meta["skipped"]
        self.token_count: int = meta["tokens"]
        self.digest: str = meta["digest"]
        self._size: int = meta["pairs"]
        self._type = np.dtype(meta["dtype"])
        token_bytes = self.token_count * self._type.itemsize
        self._tokens = SpanFile(directory / "tokens.bin", token_bytes)
        self._index = SpanFile(directory / "index.bin", self._size * INDEX_TYPE.itemsize)

    @classmethod
    def build(
        cls,
        pairs: Iterable[Pair],
        encode_batch: Callable[[list[str]], list[list[int]]],
        directory: Path,
        max_length: int,
    ) -> "EncodedCorpus":
        """Encode every pair and write it to `directory`, replacing a corpus that was there.

        Args:
            encode_batch: texts to ids, without specials.
            max_length: pairs with more tokens than this on a side are skipped and counted.

        Raises:
            UserError: the directory cannot be written.
        """
        write_encoded(pairs, encode_batch, Path(directory), max_length)
        return cls.open(directory)

    @classmethod
    def open(cls, directory: Path) -> "EncodedCorpus":
        """Open what `build` wrote.

        Raises:
            UserError: the directory holds no complete corpus.
        """
        try:
            meta = json.loads((Path(directory) / "meta.json").read_text(encoding="utf-8"))
            return cls(Path(directory), meta)
        except (OSError, KeyError, TypeError, json.JSONDecodeError):
            raise UserError(
                f"{directory} holds no complete encoded corpus; encode it again"
            ) from None

    def __len__(self) -> int:
        return self._size

    def lengths(self, start: int, stop: int) -> tuple[Ints, Ints]:
        """Source and target lengths of pairs start … stop, in tokens without specials."""
        start, stop = max(0, start), min(stop, self._size)
        size = INDEX_TYPE.itemsize
        raw = self._index.read(start * size, max(0, stop - start) * size)
        records = np.frombuffer(raw, dtype=INDEX_TYPE)
        return records["source"].astype(np.int64), records["target"].astype(np.int64)

    def read(self, indices: Ints) -> Rows:
        """Fetch pairs by number, in the order given.

        Raises:
            IndexError: a number outside range(len(self)).
        """
        wanted = np.asarray(indices, dtype=np.int64)
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < self._size):
            raise IndexError(f"pairs are numbered 0 … {self._size - 1}")
        order = np.argsort(wanted, kind="stable")  # the disk is read forwards
        records = self._records(wanted[order])
        firsts = records["first"].astype(np.int64)
        sources, targets = (records[side].astype(np.int64) for side in ("source", "target"))
        width = self._type.itemsize
        raw, offsets = self._tokens.gather(firsts * width, (firsts + sources + targets) * width)
        back = np.argsort(order, kind="stable")
        tokens = np.frombuffer(raw, dtype=self._type)
        return Rows(tokens, (offsets // width)[back], sources[back], targets[back])

    def get(self, indices: Ints) -> list[tuple[Ids, Ids]]:
        """Pairs by number: (source ids, target ids) each, in the order given."""
        rows = self.read(indices)
        middles = rows.starts + rows.source_lengths
        ends = middles + rows.target_lengths
        bounds = zip(rows.starts.tolist(), middles.tolist(), ends.tolist(), strict=True)
        return [(rows.tokens[a:b], rows.tokens[b:c]) for a, b, c in bounds]

    def _records(self, ascending: Ints) -> NDArray[np.void]:
        starts = ascending * INDEX_TYPE.itemsize
        raw, offsets = self._index.gather(starts, starts + INDEX_TYPE.itemsize)
        everything = np.frombuffer(raw, dtype=INDEX_TYPE)
        return everything[offsets // INDEX_TYPE.itemsize]
