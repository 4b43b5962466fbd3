"""A label for every word or residue: CoNLL columns, JSONL lists, strings of letters.

| file | what it holds |
|---|---|
| `.conll`, `.bio`, `.iob`, `.txt` | a word a line, its label last; a blank line ends a sentence |
| `.jsonl` | `{"words": ["Tom", "runs"], "tags": ["NAME", "VERB"]}`, or two strings of letters |
| `.tsv`, `.csv` | two strings of one length, `MKV…` and `HHC…`: a letter for every letter |

A mask, a string of 0 and 1 or a list, says which labels count; the others are ignored.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from clearhead.data.labelled import LabelledWords, some
from clearhead.data.lines import read_lines
from clearhead.data.pairs import is_blank
from clearhead.data.table import KINDS, Row, column, kind_of, read_table
from clearhead.errors import UserError

CONLL = (".conll", ".bio", ".iob", ".txt")
_COUNTS = {"1": True, "0": False, 1: True, 0: False}


class Columns(NamedTuple):
    """What the columns of a table are called; without a mask everything counts."""

    words: str = "words"
    tags: str = "tags"
    mask: str | None = None


def read_labelled_words(path: str | Path, columns: Columns | None = None) -> list[LabelledWords]:
    """All sentences of a file whose name tells its form.

    Raises:
        UserError: another form, an unknown column (with those that there are), words and
            labels of different number (with the line), or a file without sentences.
    """
    kind = kind_of(path)
    if kind in CONLL:
        return some(list(_conll(path)), path)
    if kind in KINDS:
        names = columns or Columns()
        return some([_from_row(row, names) for row in read_table(path)], path)
    raise UserError(
        f"{path}: cannot tell the form from the name, expected {', '.join((*CONLL, *KINDS))}, "
        "each perhaps with .gz"
    )


def _conll(path: str | Path) -> Iterator[LabelledWords]:
    words: list[str] = []
    tags: list[str | None] = []
    start = 1
    for number, line in enumerate(read_lines(path), start=1):
        if is_blank(line) or line.startswith("-DOCSTART-"):
            if words:
                yield LabelledWords(f"{path}, line {start}", words, tags)
            words, tags = [], []
            continue
        cells = line.split("\t") if "\t" in line else line.split()
        if len(cells) < 2 or not cells[0].strip() or not cells[-1].strip():
            raise UserError(
                f"{path}, line {number}: {line!r} is not a word and its label; expected two "
                "columns, and a blank line after each sentence"
            )
        start = start if words else number
        words.append(cells[0].strip())
        tags.append(cells[-1].strip())
    if words:
        yield LabelledWords(f"{path}, line {start}", words, tags)


def _from_row(row: Row, names: Columns) -> LabelledWords:
    words, tags = (_parts(row, name) for name in (names.words, names.tags))
    _agree(row, names.words, words, names.tags, tags)
    if names.mask is None:
        return LabelledWords(row.place, words, list(tags))
    counts = [_counts(row, names.mask, value) for value in _values(row, names.mask)]
    _agree(row, names.words, words, names.mask, counts)
    kept = [tag if counted else None for tag, counted in zip(tags, counts, strict=True)]
    return LabelledWords(row.place, words, kept)


def _values(row: Row, name: str) -> list[Any]:
    value = column(row, name)
    if not isinstance(value, str | list) or not value:
        kind = "nothing" if value in (None, "", []) else f"a {type(value).__name__}"
        raise UserError(
            f"{row.place}: {name!r} holds {kind}, expected a list, or a string of letters"
        )
    return list(value)


def _parts(row: Row, name: str) -> list[str]:
    values = [str(v) if isinstance(v, int) else v for v in _values(row, name)]
    for number, value in enumerate(values, start=1):
        if not isinstance(value, str) or is_blank(value):
            raise UserError(f"{row.place}: {name!r} holds {value!r} as number {number}, not a text")
    return values


def _counts(row: Row, name: str, value: Any) -> bool:
    if isinstance(value, list | dict) or value not in _COUNTS:
        raise UserError(f"{row.place}: {name!r} holds {value!r}, expected 0 (ignore) or 1 (count)")
    return _COUNTS[value]


def _agree(row: Row, one: str, first: list[str], other: str, second: list[Any]) -> None:
    if len(first) != len(second):
        raise UserError(
            f"{row.place}: {len(first)} in {one!r} and {len(second)} in {other!r}; expected one "
            "for each"
        )
