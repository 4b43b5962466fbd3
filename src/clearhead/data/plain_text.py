"""Pairs in plain text: one tab-separated file, or two files in which line n translates line n."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from clearhead.data.lines import read_lines
from clearhead.data.pairs import Pair, Pairs, is_blank
from clearhead.errors import UserError


class TsvPairs(Pairs):
    """`source TAB target`, or `source TAB target TAB attribution`, one pair a line.

    Tatoeba and ManyThings have this form. Blank lines are skipped.

    Raises:
        UserError: while iterating, for a line with another number of columns.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (described by Pairs)
        for line in self.numbered(read_lines(self.path)):
            if not is_blank(line):
                yield self._pair(line)

    def _pair(self, line: str) -> Pair:
        columns = line.split("\t")
        if len(columns) not in (2, 3):
            plural = "s" if len(columns) > 1 else ""
            raise UserError(
                f"{self.location}: {len(columns)} column{plural}, expected "
                "source TAB target (and perhaps TAB attribution); repair or remove the line"
            )
        return Pair(columns[0], columns[1])


class AlignedPairs(Pairs):
    """Two files; line n of one translates line n of the other, and a blank line is an empty side.

    Multi30k, Europarl and the Moses files of OPUS have this form.

    Raises:
        UserError: at the end of the shorter file, when the numbers of lines differ.
    """

    def __init__(self, source_path: Path, target_path: Path) -> None:
        self.source_path, self.target_path = source_path, target_path
        self.name = f"{source_path},{target_path}"

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (described by Pairs)
        sources, targets = read_lines(self.source_path), read_lines(self.target_path)
        for source, target in self.numbered(zip_longest(sources, targets)):
            if source is None:
                raise self._misaligned(self.row - 1, self.row + sum(1 for _ in targets))
            if target is None:
                raise self._misaligned(self.row + sum(1 for _ in sources), self.row - 1)
            yield Pair(source, target)

    def _misaligned(self, source_count: int, target_count: int) -> UserError:
        shorter = self.source_path if source_count < target_count else self.target_path
        last = min(source_count, target_count)
        return UserError(
            f"{self.source_path} has {source_count} lines and {self.target_path} has "
            f"{target_count}, expected as many in both: {shorter} ends after line {last}; "
            "find the missing or additional line"
        )
