"""Texts to vectors, in a stream: sorted by length within a window, given in the order they came."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from clearhead.errors import UserError
from clearhead.fast.memory import give_back_gaps
from clearhead.pipelines.encoding import Precision, Text
from clearhead.pipelines.positions import Positions
from clearhead.pipelines.sentence_settings import Pooling, SentenceSettings
from clearhead.pipelines.text_model import TextModel
from clearhead.pretrained.hub import directory_of
from clearhead.translation.location import best_of_run

# A window holds so many tokens: enough to sort, and, kept unpooled, 200 MB of a BERT base.
WINDOW_TOKENS = 65_536
CHUNK = 256  # texts that become ids at once

Floats = NDArray[np.float32]


class Named(NamedTuple):
    """A text and what it is called; of FASTA also its whole header."""

    name: str
    text: str
    header: str = ""


class Embedded(NamedTuple):
    """What became of a text: one vector (d_model,), or, unpooled, one for each of its ids."""

    named: Named
    ids: list[int]
    vectors: Floats


class Embedder:
    """An encoder whose answer for a text is a vector; the product of two of length 1 is a cosine.

        vectors = Embedder.from_pretrained(DIRECTORY).encode(["One text.", "Another."])

    Pooling: ``mean`` of all tokens, the signs at both ends included (the rule of
    sentence-transformers); ``inner`` without these two (ESM's rule); ``cls``, the first token;
    ``none``, every token's vector. A directory of sentence-transformers says which it wants.
    """

    def __init__(
        self, reader: TextModel, settings: SentenceSettings | None = None, truncate: bool = False
    ) -> None:
        self.reader, self.settings = reader, settings or SentenceSettings()
        positions = reader.model.config.seq_len
        self.limit = min(positions, self.settings.limit or positions)
        self.truncate = truncate
        if self.settings.pooling not in POOLINGS:
            raise UserError(
                f"pooling {self.settings.pooling!r} is unknown; give {', '.join(POOLINGS)}"
            )

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path,
        device: str = "auto",
        threads: int | None = None,
        precision: Precision | Literal["auto"] = "float32",
        pooling: Pooling | None = None,
        normalise: bool | None = None,
        truncate: bool = False,
    ) -> Self:
        """From a directory or a name; pooling and normalise as the directory says, unless given.

        Raises:
            UserError: as `TextModel.from_pretrained`, or a pooling that there is not.
        """
        directory = directory_of(best_of_run(model))
        told = SentenceSettings() if pooling else SentenceSettings.of(directory)
        settings = SentenceSettings(
            pooling or told.pooling, told.normalise if normalise is None else normalise, told.limit
        )
        return cls(
            TextModel.from_pretrained(directory, device, threads, precision), settings, truncate
        )

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return int(self.reader.model.config.d_model)

    def encode(self, texts: Sequence[str]) -> Floats:
        """(texts, d_model), in order.

        Raises:
            UserError: one text instead of a list, one that is too long, or nothing is pooled.
        """
        if isinstance(texts, str):
            raise UserError("encode takes a list of texts, got one str; write encode([text])")
        if self.settings.pooling == "none":
            raise UserError("without pooling a text has many vectors; take stream() or a pooling")
        named = (Named(str(number), text) for number, text in enumerate(texts))
        rows = [embedded.vectors for embedded in self.stream(named)]
        return np.stack(rows) if rows else np.zeros((0, self.width), np.float32)

    def stream(self, texts: Iterable[Named]) -> Iterator[Embedded]:
        """One result a text, in order; memory holds one window of them.

        Raises:
            UserError: while iterating, for a text that is too long and may not be cut.
        """
        positions = Positions(self.limit, self.truncate)
        window: list[tuple[Named, list[int]]] = []
        tokens = 0
        for chunk in _chunks(texts):
            every = self.reader.tokenizer.encode_batch([named.text for named in chunk])
            for named, ids in zip(chunk, every, strict=True):
                window.append((named, positions.fit(ids, named.name)))
                tokens += len(window[-1][1])
            if tokens >= WINDOW_TOKENS:
                yield from self._embed(window)
                window, tokens = [], 0
        yield from self._embed(window)
        positions.say()

    def _embed(self, window: list[tuple[Named, list[int]]]) -> Iterator[Embedded]:
        found = self.reader.read([Text(ids) for _, ids in window], POOLINGS[self.settings.pooling])
        for (named, ids), vectors in zip(window, found, strict=True):
            yield Embedded(named, ids, normalised(vectors) if self.settings.normalise else vectors)
        give_back_gaps()


def normalised(vectors: Floats) -> Floats:
    """(..., d_model), each of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = vectors / np.maximum(lengths, 1e-12)
    return scaled


def _chunks(texts: Iterable[Named]) -> Iterator[list[Named]]:
    every = iter(texts)
    while chunk := list(islice(every, CHUNK)):
        yield chunk


def _rows(vectors: Tensor) -> list[Floats]:
    # Copies: a window's vectors must not keep all its hidden states alive.
    return [np.array(row) for row in vectors.float().cpu().numpy()]


def _inner(ids: Tensor, hidden: Tensor) -> list[Floats]:
    return _rows(hidden[:, 1:-1].sum(dim=1) / max(1, hidden.shape[1] - 2))


# (texts, length) ids, (texts, length, d_model) hidden states, no padding -> one array a text
POOLINGS: dict[str, Callable[[Tensor, Tensor], list[Floats]]] = {
    "mean": lambda ids, hidden: _rows(hidden.mean(dim=1)),
    "inner": _inner,
    "cls": lambda ids, hidden: _rows(hidden[:, 0]),
    "none": lambda ids, hidden: _rows(hidden),
}
