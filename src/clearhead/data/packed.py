"""Texts as one long ribbon of token ids on disk, cut into blocks of one length.

tokens.bin   sign, ids of text 0, sign, ids of text 1, …, sign   (uint16 or uint32)
meta.json    counts, type and digest; written last, so a directory without it is no corpus

A model is fed with full rows: nothing is padded, no token is lost, and where one text
ends within a block the sign says so (GPT-2, section 2.1).
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.data.spans import SpanFile
from clearhead.errors import UserError
from clearhead.files import atomic_save, atomic_write

Ids = NDArray[np.int64]
EncodeTexts = Callable[[list[str]], list[list[int]]]
CHUNK = 1_000
"""Texts that are encoded and written together."""


class PackedCorpus:
    """A ribbon of ids; `PackedCorpus.build` makes one.

    Attributes:
        texts, tokens: how many, signs included in the latter.
        digest: sha256 of the ids; a resumed run can see that its data is the same.
    """

    def __init__(self, directory: Path, meta: dict[str, Any]) -> None:
        self.texts: int = meta["texts"]
        self.tokens: int = meta["tokens"]
        self.digest: str = meta["digest"]
        self._type = np.dtype(meta["dtype"])
        size = self.tokens * self._type.itemsize
        self._ribbon = SpanFile(directory / "tokens.bin", size)

    @classmethod
    def build(
        cls,
        texts: Iterable[str],
        encode: EncodeTexts,
        sign: int,
        vocab_size: int,
        directory: Path,
        block: int = 1,
    ) -> "PackedCorpus":
        """Encode all texts, each between two signs, and write them to `directory`.

        Raises:
            UserError: the directory cannot be written, or the text fills no block of that length.
        """
        dtype = "<u2" if vocab_size <= 2**16 else "<u4"
        meta: dict[str, Any] = {"texts": 0, "tokens": 0, "dtype": dtype}
        sha256 = hashlib.sha256()

        def write(path: Path) -> None:
            with path.open("wb") as stream:
                for count, ids in _ribbon(texts, encode, sign):
                    data = ids.astype(dtype).tobytes()
                    stream.write(data)
                    sha256.update(data)
                    meta["texts"] += count
                    meta["tokens"] += len(ids)

        (directory / "meta.json").unlink(missing_ok=True)
        atomic_save(directory / "tokens.bin", write)
        refuse_short(meta["tokens"], block)
        meta["digest"] = sha256.hexdigest()
        atomic_write(directory / "meta.json", json.dumps(meta, indent=2) + "\n")
        return cls.open(directory)

    @classmethod
    def open(cls, directory: Path) -> "PackedCorpus":
        """Open what `build` wrote.

        Raises:
            UserError: the directory holds no complete corpus.
        """
        try:
            meta = json.loads((directory / "meta.json").read_text(encoding="utf-8"))
            return cls(directory, meta)
        except (OSError, KeyError, TypeError, ValueError):
            raise UserError(f"{directory} holds no complete packed text; encode it again") from None

    def read(self, start: int, count: int) -> Ids:
        """Ids start … start + count, fewer at the end of the ribbon."""
        width = self._type.itemsize
        count = max(0, min(count, self.tokens - start))
        raw = self._ribbon.read(start * width, count * width)
        return np.frombuffer(raw, dtype=self._type).astype(np.int64)


def refuse_short(tokens: int, block: int) -> None:
    """A text must fill one block.

    Raises:
        UserError: it does not.
    """
    if tokens < block:
        raise UserError(
            f"the text holds {tokens} tokens, fewer than one block of {block}; "
            "give more text, or a smaller --set model.seq_len"
        )


def _ribbon(
    texts: Iterable[str], encode: EncodeTexts, sign: int
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """How many texts, and their ids, each behind a sign; at the very end one more sign."""
    remaining = iter(texts)
    while chunk := list(islice(remaining, CHUNK)):
        ids = [i for row in encode(chunk) for i in (sign, *row)]
        yield len(chunk), np.array(ids, dtype=np.int64)
    yield 0, np.array([sign], dtype=np.int64)
