"""Two files, line by line: Multi30k, Europarl and the Moses files of OPUS."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from clearhead.data.lines import read_lines
from clearhead.data.pairs import Pair, Pairs
from clearhead.errors import UserError


@dataclass
class AlignedPairs(Pairs):
    """Line n of one file translates line n of the other; a blank line is an empty side.

    Raises:
        UserError: at the end of the shorter file, when the counts differ.
    """

    source_path: Path
    target_path: Path

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (said by Pairs)
        sources, targets = read_lines(self.source_path), read_lines(self.target_path)
        for together, (source, target) in enumerate(zip_longest(sources, targets)):
            if source is None:
                raise self._misaligned(together, 1 + together + sum(1 for _ in targets))
            if target is None:
                raise self._misaligned(1 + together + sum(1 for _ in sources), together)
            yield Pair(source, target)

    def _misaligned(self, source_count: int, target_count: int) -> UserError:
        shorter = self.source_path if source_count < target_count else self.target_path
        last = min(source_count, target_count)
        return UserError(
            f"{self.source_path} has {source_count} lines and {self.target_path} has "
            f"{target_count}, expected as many in both: {shorter} ends after line {last}; "
            "find the missing or additional line"
        )
