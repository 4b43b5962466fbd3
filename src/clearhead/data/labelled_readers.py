"""Reading labelled examples: tables of texts, words with a label each, the built-in grammar.

| file | labelled words |
|---|---|
| `.conll`, `.bio`, `.iob`, `.txt` | a word a line, its label last; a blank line ends a sentence |
| `.jsonl` | `{"words": ["Tom", "runs"], "tags": ["NAME", "VERB"]}`, or two strings of letters |
| `.tsv`, `.csv` | two strings of equal length, `MKV…` and `HHC…`: a label for each letter |

A mask, a string of 0 and 1 or a list, selects the labels that count; the others are ignored.

`grammar:SPLIT:COUNT[:SEED]` instead of a file names generated sentences. The grammar generates
each sentence from a tree, so it labels without an annotator: a sentence by its construction, and
a word by its role ("that" begins a relative clause, connects two clauses or points at a noun).
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from clearhead.data.corpus import GrammarPairs, parse_grammar
from clearhead.data.labelled import LabelledText, LabelledWords
from clearhead.data.lines import read_lines
from clearhead.data.pairs import is_blank
from clearhead.data.table import KINDS, Row, column, kind_of, read_table, text_of
from clearhead.errors import UserError, counted

PREFIX = "grammar:"
CONLL = (".conll", ".bio", ".iob", ".txt")
Item = TypeVar("Item")
_COUNTS = {"1": True, "0": False, 1: True, 0: False}
# The role of a word is the first of these that occurs in its links.
ROLES = {
    "verb": "verb",
    "finite": "auxiliary",
    "not": "negation",
    "noun": "noun",
    "det": "determiner",
    "adj": "adjective",
    "particle": "particle",
    "prep": "preposition",
    "wh": "question word",
    "relative": "relative",
    "connective": "conjunction",
    "and": "conjunction",
    "end": "end mark",
    "adv0": "adverbial",
    "adv1": "adverbial",
    "adv2": "adverbial",
}
_SPLITS = ("train", "dev", "test")


def read_labelled_texts(
    path: str | Path, text: str = "text", label: str = "label", pair: str | None = None
) -> list[LabelledText]:
    """All rows of a CSV, TSV or JSONL file, whose columns are named `text`, `label` and `pair`.

    Raises:
        UserError: what `read_table` refuses, an unknown column (the message has those that exist),
            an empty text or label (with the line), or a file without rows.
    """
    found = [
        LabelledText(
            row.place,
            text_of(row, text),
            text_of(row, pair) if pair else None,
            text_of(row, label).strip(),
        )
        for row in read_table(path)
    ]
    return _not_empty(found, path)


def _not_empty(items: list[Item], path: str | Path) -> list[Item]:
    """The items, or a UserError if there are none."""
    if not items:
        raise UserError(f"{path} holds no labelled example; expected one per row")
    return items


class Columns(NamedTuple):
    """The names of a table's columns; without a mask every label counts."""

    words: str = "words"
    tags: str = "tags"
    mask: str | None = None


def read_labelled_words(path: str | Path, columns: Columns | None = None) -> list[LabelledWords]:
    """All sentences of a file; the extension decides how it is read.

    Raises:
        UserError: another extension, an unknown column (the message has those that exist), unequal
            numbers of words and labels (with the line), or a file without sentences.
    """
    kind = kind_of(path)
    if kind in CONLL:
        return _not_empty(list(_conll(path)), path)
    if kind in KINDS:
        names = columns or Columns()
        return _not_empty([_from_row(row, names) for row in read_table(path)], path)
    raise UserError(
        f"{path}: unknown file extension, expected {', '.join((*CONLL, *KINDS))}, "
        "each also with .gz"
    )


def _conll(path: str | Path) -> Iterator[LabelledWords]:
    words: list[str] = []
    tags: list[str | None] = []
    start, width = 1, 0
    for number, line in enumerate(chain(read_lines(path), [""]), start=1):
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
        if len(cells) != (width := width or len(cells)):
            raise UserError(
                f"{path}, line {number}: {counted(len(cells), 'column')}, and {width} in the lines "
                "before; expected the same number in each line; remove comments, or repair the line"
            )
        start = start if words else number
        words.append(cells[0].strip())
        tags.append(cells[-1].strip())


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
    value = column(row, name, ("words", "tags"))
    if not isinstance(value, str | list) or not value:
        kind = "nothing" if value in (None, "", []) else f"a value of type {type(value).__name__}"
        raise UserError(
            f"{row.place}: {name!r} holds {kind}, expected a list, or a string of letters"
        )
    if isinstance(value, str) and len(value.split()) > 1:
        raise UserError(
            f"{row.place}: {name!r} holds a text with spaces, expected one letter for each label; "
            "write words as a list in .jsonl, or one per line in .conll"
        )
    return list(value)


def _parts(row: Row, name: str) -> list[str]:
    values = [str(v) if isinstance(v, int) else v for v in _values(row, name)]
    for number, value in enumerate(values, start=1):
        if not isinstance(value, str) or is_blank(value):
            raise UserError(
                f"{row.place}: element {number} of {name!r} is {value!r}; expected a string"
            )
    return values


def _counts(row: Row, name: str, value: Any) -> bool:
    if isinstance(value, list | dict) or value not in _COUNTS:
        raise UserError(f"{row.place}: {name!r} holds {value!r}, expected 0 (ignore) or 1 (count)")
    return _COUNTS[value]


def _agree(row: Row, one: str, first: list[str], other: str, second: list[Any]) -> None:
    if len(first) != len(second):
        raise UserError(
            f"{row.place}: {one!r} has {len(first)} elements and {other!r} {len(second)}; expected "
            "one for each word"
        )


def labelled_sentences(spec: str) -> list[LabelledText]:
    """English sentences labelled with their construction: object, copula, relative, wh_why, …"""
    return [text for text, _ in _generated(spec)]


def labelled_roles(spec: str) -> list[LabelledWords]:
    """English sentences whose words are labelled with their role: noun, auxiliary, relative, …"""
    return [words for _, words in _generated(spec)]


def _generated(spec: str) -> Iterator[tuple[LabelledText, LabelledWords]]:
    from clearhead.data.grammar.bitext import english_text
    from clearhead.data.grammar.splits import choose, read_english, share
    from clearhead.data.grammar.vocabulary import Draw, small

    named, number = _parse(spec), 0
    rng = Draw.of(small(), crc32(f"labels {named.split} {named.seed}".encode()))
    while number < named.count:
        tree = choose(rng)
        words = read_english(tree)
        sentence = english_text(words)
        if share(sentence) != named.split:
            continue
        number += 1
        place = f"the grammar, sentence {number}"
        tags: list[str | None] = [_role({name for name, _ in word.links}) for word in words]
        yield (
            LabelledText(place, sentence, None, tree.construction),
            LabelledWords(place, [word.text for word in words], tags),
        )


def _role(links: set[str]) -> str:
    return next((role for name, role in ROLES.items() if name in links), "other")


def _parse(spec: str) -> GrammarPairs:
    expected = UserError(
        f"{spec}: expected grammar:SPLIT:COUNT or grammar:SPLIT:COUNT:SEED with a split of "
        f"{', '.join(_SPLITS)}, for example grammar:train:2000"
    )
    try:
        named = parse_grammar(spec)
    except UserError:
        raise expected from None
    if named.grammar != "small" or named.split not in _SPLITS or not named.count:
        raise expected
    return named
