"""What a decoding contestant must do, and the sentences that all of them get."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from clearhead.models import Transformer
from clearhead.text import Tokenizer

Ids = list[int]


@dataclass(frozen=True)
class Search:
    """How everyone searches: `rows` sentences side by side, `beam` hypotheses each.

    No translation gets longer than `limit` tokens, end sign included. Hypotheses are
    ranked by score / length; a sentence is over when `beam` of them are finished.
    """

    beam: int
    rows: int
    limit: int


class Engine(Protocol):
    """One model in one engine and one number format."""

    name: str

    def translate(self, sources: Sequence[Ids], search: Search) -> list[Ids]:
        """The best translation of each source (ids with their end sign), end sign left out."""
        ...


@dataclass(frozen=True)
class Subject:
    """The model that is raced: as it lies on the disk, and as we load it; `folder` takes exports.

    `threads` cores are used, torch's own count.
    """

    directory: Path
    model: Transformer
    tokenizer: Tokenizer
    folder: Path
    threads: int


def groups(sources: Sequence[Ids], rows: int) -> Iterator[list[int]]:
    """Numbers of sentences of like length, `rows` at a time, longest first."""
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    for start in range(0, len(order), rows):
        yield order[start : start + rows]
