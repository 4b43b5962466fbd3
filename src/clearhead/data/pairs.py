"""Sentence pairs as streams that can be read again: the base of every corpus, JSONL, plain text."""

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeVar

from clearhead.data.lines import one_line, read_lines
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
        """Yield the pairs that have both sides; a UserError if there is none."""
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
        """Yield every pair of every part; a UserError if a part is empty."""
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


class FilePairs(Pairs):
    """The pairs of one file; the languages matter where the file names them."""

    def __init__(self, path: Path, source_lang: str = "en", target_lang: str = "fr") -> None:
        self.path, self.name = path, str(path)
        self.languages = (source_lang, target_lang)


class JsonlPairs(FilePairs):
    """One JSON object a line, in one of the forms of `pair_from_record`; blank lines are skipped.

    Raises:
        UserError: while iterating, for a line that is not such an object.
    """

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (described by Pairs)
        for line in self.numbered(read_lines(self.path)):
            if not is_blank(line):
                location = self.location
                record = parse_json(line, location)
                yield pair_from_record(record, location, *self.languages)


def parse_json(line: str, location: str) -> object:
    """The JSON value of a line, or a UserError."""
    try:
        parsed: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it cannot be parsed")
        column = getattr(error, "colno", 1)
        raise UserError(
            f"{location}, column {column}: not JSON ({reason}); expected one object per line"
        ) from None
    return parsed


def pair_from_record(
    record: object, location: str, source_lang: str = "en", target_lang: str = "fr"
) -> Pair:
    """Read `{"source", "target"}`, `{"en", "fr"}` or `{"translation": {"en", "fr"}}`.

    Line feeds inside a text become spaces: each side of a pair is one line.

    Args:
        record: a JSON object, or a row of a Hugging Face data set.
        location: "FILE, line N" for the error message.

    Raises:
        UserError: the record has none of the three forms, or a side is not a text.
    """
    if isinstance(record, Mapping):
        inner = record.get("translation")
        fields = inner if isinstance(inner, Mapping) else record
        for keys in (("source", "target"), (source_lang, target_lang)):
            if all(key in fields for key in keys):
                source, target = (_text(fields[key], key, location) for key in keys)
                return Pair(source, target)
    found = f"the keys {', '.join(map(str, record))}" if isinstance(record, Mapping) else "no keys"
    raise UserError(
        f'{location}: {found}, expected {{"source": …, "target": …}}, '
        f'{{"{source_lang}": …, "{target_lang}": …}} or {{"translation": {{…}}}}; rename them'
    )


def _text(value: object, key: str, location: str) -> str:
    if not isinstance(value, str):
        raise UserError(f'{location}: "{key}" holds {type(value).__name__}, expected a text')
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(
            f'{location}: "{key}" holds half of a surrogate pair at character {error.start}, '
            "which is not a character; expected valid Unicode"
        ) from None
    return one_line(value)


class TsvPairs(FilePairs):
    """`source TAB target`, or `source TAB target TAB attribution`, one pair a line.

    Tatoeba and ManyThings have this form. Blank lines are skipped.

    Raises:
        UserError: while iterating, for a line with another number of columns.
    """

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
