"""A pair of sentences, and the base of every corpus: a stream of pairs that can be read again."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from clearhead.errors import UserError

Item = TypeVar("Item")
log = logging.getLogger("clearhead.data")


class Pair(NamedTuple):
    """One sentence in two languages; neither side contains a line feed."""

    source: str
    target: str


class Pairs(ABC):
    """Pairs read one at a time; each `for` starts from the beginning.

    A pair with an empty side teaches nothing. It is left out, and a warning names the first one.

    Attributes:
        name: how messages name the corpus: a path, or the specification of a user.
        unit: what a row is in messages: a line of a file, for example.
        row: number of the row that was read last, from 1.
        dropped: how many pairs the latest pass left out.
    """

    name: str
    unit: ClassVar[str] = "line"
    row: int = 0
    dropped: int = 0

    @abstractmethod
    def rows(self) -> Iterator[Pair]:
        """Yield every pair of the corpus, those with an empty side included."""

    @property
    def location(self) -> str:
        """The row that was read last, as messages name it: `pairs.tsv, line 7`."""
        return f"{self.name}, {self.unit} {self.row}"

    def numbered(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items of the corpus; `row` is the number of the one that was yielded last."""
        for self.row, item in enumerate(items, start=1):
            yield item

    def __iter__(self) -> Iterator[Pair]:
        """Yield the pairs that have both sides.

        Raises:
            UserError: there is none.
        """
        self.dropped = 0
        kept, first = False, ""
        for pair in self.rows():
            if is_blank(pair.source) or is_blank(pair.target):
                first = first or self.location
                self.dropped += 1
            else:
                kept = True
                yield pair
        if not kept:
            raise _no_pair(self.name, f" with both sides ({first}: one is empty)" if first else "")
        if first:
            log.warning("%s: one side is empty; %d such pairs left out", first, self.dropped)


class JoinedPairs(Pairs):
    """All pairs of the first corpus, then all of the second, and so on."""

    def __init__(self, parts: Sequence[Pairs]) -> None:
        self.parts = parts
        self.name = " + ".join(part.name for part in parts)
        self._current = parts[0]

    @property
    def location(self) -> str:
        """The row of the part that is being read."""
        return self._current.location

    def rows(self) -> Iterator[Pair]:
        """Yield every pair of every part.

        Raises:
            UserError: a part is empty.
        """
        for part in self.parts:
            self._current, empty = part, True
            for pair in part.rows():
                empty = False
                yield pair
            if empty:
                raise _no_pair(part.name)


def is_blank(text: str) -> bool:
    """True for an empty text and for one of white space only, no-break spaces included."""
    return not text or text.isspace()


def _no_pair(name: str, detail: str = "") -> UserError:
    return UserError(
        f"{name} holds no pair of sentences{detail}; expected at least one, with a source and a "
        "target"
    )
