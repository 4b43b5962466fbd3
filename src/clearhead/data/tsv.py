"""Tab-separated pairs: Tatoeba and ManyThings, with or without their attribution column."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clearhead.data.lines import read_lines
from clearhead.data.pairs import Pair, Pairs, is_blank
from clearhead.errors import UserError


@dataclass
class TsvPairs(Pairs):
    """`source TAB target`, or `source TAB target TAB attribution`, one pair a line.

    Blank lines are skipped.

    Raises:
        UserError: while iterating, for a line with another number of columns.
    """

    path: Path

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (said by Pairs)
        for number, line in enumerate(read_lines(self.path), start=1):
            if not is_blank(line):
                yield self._pair(line, number)

    def _pair(self, line: str, number: int) -> Pair:
        columns = line.split("\t")
        if len(columns) not in (2, 3):
            plural = "s" if len(columns) > 1 else ""
            raise UserError(
                f"{self.path}, line {number}: {len(columns)} column{plural}, expected "
                "source TAB target (and perhaps TAB attribution); repair or remove the line"
            )
        return Pair(columns[0], columns[1])
