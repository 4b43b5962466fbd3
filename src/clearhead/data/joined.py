"""Several corpora, one after the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clearhead.data.pairs import Pair, Pairs


@dataclass
class JoinedPairs(Pairs):
    """All pairs of the first corpus, then all of the second, and so on."""

    parts: Sequence[Pairs]

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (said by Pairs)
        for part in self.parts:
            yield from part.rows()
