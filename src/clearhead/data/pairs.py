"""A pair of sentences, and what every corpus is: a stream of pairs that can be read again."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple


class Pair(NamedTuple):
    """One sentence in two languages; neither side holds a line feed."""

    source: str
    target: str


class Pairs(ABC):
    """Pairs read from somewhere, one at a time; each `for` starts from the beginning.

    A pair with an empty side teaches nothing and is dropped; `dropped` counts
    those of the latest pass.
    """

    dropped: int = 0

    @abstractmethod
    def rows(self) -> Iterator[Pair]:
        """Yield every pair as it stands in the corpus, empty sides included."""

    def __iter__(self) -> Iterator[Pair]:
        self.dropped = 0
        for pair in self.rows():
            if is_blank(pair.source) or is_blank(pair.target):
                self.dropped += 1
            else:
                yield pair


def is_blank(text: str) -> bool:
    """True for an empty text and for one of white space only, no-break spaces included."""
    return not text or text.isspace()
