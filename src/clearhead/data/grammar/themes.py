"""The lexicon's files, the small lexicon's and one for each theme, and the words of their rows.

Each row of `lexicon/themes/THEME.tsv` is `kind TAB english TAB french TAB form TAB tags TAB
fields`; the folder's README.md lists what each kind has in these columns. An error names its
file and line.
"""

import unicodedata
from collections.abc import Collection, Iterator
from itertools import product
from typing import NamedTuple

from clearhead.errors import UserError

from .bitext import words
from .lexicon import Adjective, Adverbial, Links, Noun, Verb, numbered_lines, read, read_links

CORE = "core"  # the small lexicon
THEMES = (
    "machine_learning", "software", "science", "biology", "medicine", "body", "people", "home",
    "tools", "clothes", "school", "office", "travel", "shopping", "food", "weather", "nature",
    "animals", "leisure", "feelings", "news", "time", "general",
)  # fmt: skip
FIELDS = {
    "noun": frozenset({"plural_en", "plural_fr", "links", "woman"}),
    "adjective": frozenset({"feminine", "vowel", "plural", "comparative", "predicate"}),
    "verb": frozenset({"features"}),
    "adverbial": frozenset({"links"}),
    "preposition": frozenset({"links"}),
}
# Frames of verbs: French prepositions of the object, and others with an object.
GOVERNED = frozenset({"de", "à", "dans", "sur", "avec", "contre", "pour"})
_WITH_OBJECT = GOVERNED | {"object", "generic", "give"}
FORMS = {
    "noun": frozenset({"m", "f"}),
    "adjective": frozenset({"before", "after", "predicate"}),
    "verb": _WITH_OBJECT | {"intransitive", "become", "idiom", "that", "whether"},
    "adverbial": frozenset({"frequency", "degree", "manner", "place", "time"}),
    "preposition": frozenset({""}),
}
_HEADER = "# theme: "


class Row(NamedTuple):
    """One entry, still as text; `where` is its file and line."""

    where: str
    kind: str
    english: str
    french: str
    form: str
    tags: str
    fields: dict[str, str]

    def get(self, name: str) -> str:
        """A field, or "" where the row has none."""
        return self.fields.get(name, "")


def rows(theme: str) -> list[Row]:
    """The entries of one theme, as its file has them."""
    return list(parse(read(f"themes/{theme}"), f"{theme}.tsv"))


def parse(text: str, name: str) -> Iterator[Row]:
    """Read the text of a theme's file.

    Raises:
        UserError: an unknown theme, kind, form or field, a missing column, or text not in NFC.
    """
    first = text.partition("\n")[0]
    if not first.startswith(_HEADER) or first.removeprefix(_HEADER) not in (CORE, *THEMES):
        raise UserError(
            f"{name}:1: expected '{_HEADER}THEME', the theme one of {', '.join(THEMES)}; "
            f"found {first!r}"
        )
    for number, line in numbered_lines(text):
        yield _row(line, f"{name}:{number}")


def _row(line: str, where: str) -> Row:
    cells = [cell.strip() for cell in line.split("\t")]
    if not 3 <= len(cells) <= 6:
        raise UserError(f"{where}: expected 3 to 6 columns between tabs, found {len(cells)}")
    kind, english, french, form, tags, fields = [*cells, "", "", ""][:6]
    _check_choice(where, "kind", kind, FIELDS)
    _check_choice(where, f"form of {kind}", form, FORMS[kind])
    if not english or not french:
        raise UserError(f"{where}: one side is empty; expected an English and a French word")
    if not unicodedata.is_normalized("NFC", line):
        raise UserError(f"{where}: the text is not in Unicode form NFC; normalize it")
    return Row(where, kind, english, french, form, tags, _fields(where, kind, fields))


def _fields(where: str, kind: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, value = part.partition("=")
        _check_choice(where, f"field of {kind}", name, FIELDS[kind])
        if not equals or not value:
            raise UserError(f"{where}: field {name!r} has no value; expected {name}=VALUE")
        found[name] = value
    return found


def _check_choice(where: str, what: str, found: str, known: Collection[str]) -> None:
    if found not in known:
        choices = ", ".join(sorted(map(repr, known)))
        raise UserError(f"{where}: {what} {found!r} is unknown; expected one of {choices}")


def noun(row: Row) -> Noun:
    """A noun; besides its tags it has `=name`, by which a verb can name it alone."""
    tags = frozenset(row.tags.split()) | {name_tag(row.english)}
    fixed = "plural" in tags  # scissors, ciseaux: the entry is in the plural
    english_fixed = fixed or "english_plural" in tags
    return Noun(
        row.english,
        row.english if english_fixed else row.get("plural_en"),
        row.french,
        row.french if fixed or "french_plural" in tags else row.get("plural_fr"),
        row.form == "f",
        tags,
        _compound_links(row),
        row.get("woman"),
    )


def name_tag(english: str) -> str:
    """The tag that only this noun has: `=neural_network`."""
    return "=" + english.replace(" ", "_")


def adjective(row: Row) -> Adjective:
    """An adjective; its tags name the nouns it may describe."""
    if len(words(row.french)) > 1:
        raise UserError(f"{row.where}: the French adjective has several words; expected one")
    forms = row.get("feminine"), row.form, row.get("vowel")
    tags = frozenset(row.tags.split())
    rest = row.get("comparative"), row.get("plural"), row.get("predicate") != "no"
    return Adjective(row.english, row.french, *forms, tags, *rest)


def verb(row: Row) -> Verb:
    """A verb; its tags are `SUBJECTS > OBJECTS`, or `SUBJECTS` where the frame has no object."""
    subjects, arrow, objects = row.tags.partition(">")
    if bool(arrow and objects.strip()) != (row.form in _WITH_OBJECT) or not subjects.strip():
        wanted = "SUBJECTS > OBJECTS" if row.form in _WITH_OBJECT else "SUBJECTS"
        raise UserError(f"{row.where}: tags {row.tags!r} do not fit {row.form}; expected {wanted}")
    bare = row.french.removeprefix("se ").removeprefix("s'")
    sets = (frozenset(part.split()) for part in (subjects, objects, row.get("features")))
    english, french = tuple(row.english.split()), tuple(words(bare))
    return Verb(english, french, bare != row.french, row.form, *sets)


def adverbial(row: Row) -> Adverbial:
    """An adverb or a time phrase; its tag says when or with which verbs it is used."""
    return Adverbial(*_sides(row), _links(row, _everything(row)), row.form, row.tags)


def prepositions(row: Row) -> tuple[Adverbial, ...]:
    """One for each tag before `>` (what stands behind it) and each after it (what is there)."""
    grounds, _, figures = row.tags.partition(">")
    links = _links(row, _everything(row))
    return tuple(
        Adverbial(*_sides(row), links, ground, figure)
        for ground, figure in product(grounds.split() or [""], figures.split() or [""])
    )


def _sides(row: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(words(row.english)), tuple(words(row.french))


def _everything(row: Row) -> Links:
    english, french = _sides(row)
    return tuple(product(range(len(english)), range(len(french))))


def _compound_links(row: Row) -> Links:
    """English has the head last, French first: *neural network*, *réseau de neurones*."""
    english, french = _sides(row)
    if len(english) == len(french) == 1:
        return ()
    if min(len(english), len(french)) == 1:
        return _everything(row)
    last = len(english) - 1
    rest = product(range(last), range(1, len(french)))
    return _links(row, tuple(sorted([(last, 0), *rest])))


def _links(row: Row, usual: Links) -> Links:
    text = row.get("links")
    if text == "all":
        return _everything(row)
    if not text:
        return usual
    try:
        found = read_links(text)
    except ValueError:
        raise UserError(f"{row.where}: links {text!r}; expected pairs such as 0-1 1-0") from None
    english, french = _sides(row)
    indices = [set(range(len(side))) for side in (english, french)]
    if [set(side) for side in zip(*found, strict=True)] != indices:
        raise UserError(
            f"{row.where}: links {text!r} leave out a word or name one that is not there; "
            f"expected every index of {english} and {french}"
        )
    return found
