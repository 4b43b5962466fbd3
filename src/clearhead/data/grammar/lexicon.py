"""The words of both languages from the lexicon's tables: open and closed classes, and names.

The tables are tab-separated files in `lexicon/`, read once; the tests check them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from clearhead.errors import UserError

Tags = frozenset[str]
Links = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A common noun; verbs and adjectives name its `tags` (human, food, mass …).

    A compound (`neural network`, `réseau de neurones`) has links between the words of the two
    sides. `woman` is the French noun for a woman of this profession, where there is one.
    """

    english: str
    english_plural: str
    french: str
    french_plural: str
    feminine: bool
    tags: Tags
    links: Links = ()
    woman: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective; `position` is where it stands in French: before, after or predicate only."""

    english: str
    french: str
    feminine: str
    position: str
    before_vowel: str
    tags: Tags
    comparative: str
    plural: str = ""
    predicative: bool = True  # may follow *be*


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb pair with its frame, what its subject and object may be, and its features."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    reflexive: bool
    frame: str
    subjects: Tags
    objects: Tags
    features: Tags

    @property
    def lemma(self) -> str:
        """The English citation form, particles included."""
        return " ".join(self.english)


@dataclass(frozen=True, slots=True, eq=False)
class Adverbial:
    """An adverb, a time phrase or a preposition with its own word alignment."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    links: Links
    slot: str
    when: str


@dataclass(frozen=True, slots=True, eq=False)
class Pronoun:
    """A personal pronoun in every case of both languages."""

    subject: str
    object: str
    french_subject: str
    direct: str
    indirect: str
    strong: str
    person: int
    plural: bool
    feminine: bool


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """An article, possessive, demonstrative or number; a form that does not exist is empty."""

    name: str
    singular: str
    plural: str
    masculine: str
    feminine: str
    french_plural: str
    masculine_vowel: str
    feminine_vowel: str


@cache
def table(name: str) -> list[list[str]]:
    """The rows of one table; a UserError for one of more or fewer columns than the first line."""
    return read_table(read(name), f"{name}.tsv")


def read_table(text: str, name: str) -> list[list[str]]:
    """The rows of a table whose first line names its columns."""
    return [row for _, row in _numbered_rows(text, name)]


def _numbered_rows(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    header = text.partition("\n")[0]
    columns = header.count("\t") + 1
    for number, line in numbered_lines(text):
        row = line.split("\t")
        if len(row) != columns:
            raise UserError(
                f"{name}:{number}: expected {columns} columns between tabs ({header}), "
                f"found {len(row)}"
            )
        yield number, row


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a file, counted from 1, without empty lines and comments."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.startswith("#"):
            yield number, line


def group_by_kind(text: str, name: str, kinds: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The texts of a table with the columns `kind` and `text`, by kind and in their order.

    Raises:
        UserError: a row has another kind; the message has its line.
    """
    found: dict[str, list[str]] = {kind: [] for kind in kinds}
    for number, (kind, value) in _numbered_rows(text, name):
        if kind not in found:
            known = ", ".join(map(repr, kinds))
            raise UserError(f"{name}:{number}: kind {kind!r} is unknown; expected one of {known}")
        found[kind].append(value)
    return {kind: tuple(values) for kind, values in found.items()}


def read(name: str) -> str:
    """The text of one file of the lexicon."""
    return files(__package__).joinpath("lexicon", f"{name}.tsv").read_text(encoding="utf-8")


def read_links(text: str) -> Links:
    """`0-0 1-2` as pairs of indices, English before French."""
    return tuple((int(s), int(t)) for s, t in (link.split("-") for link in text.split()))


@cache
def determiners() -> dict[str, Determiner]:
    """Determiners by name; numbers included."""
    return {row[0]: Determiner(*row) for row in table("determiners")}


@cache
def pronouns() -> dict[str, Pronoun]:
    """Personal pronouns by their English subject form."""
    return {row[0]: _pronoun(row) for row in table("pronouns")}


def _pronoun(row: list[str]) -> Pronoun:
    subject, object_, french, direct, indirect, strong, person, number, gender = row
    forms = (subject, object_, french, direct, indirect, strong)
    return Pronoun(*forms, int(person), number == "p", gender == "f")


@cache
def names() -> tuple[tuple[str, bool], ...]:
    """First names with whether they are a woman's."""
    return tuple((name, gender == "f") for name, gender in table("names"))


class City(NamedTuple):
    """A city under its name in both languages."""

    english: str
    french: str


class Country(NamedTuple):
    """A country; `gender` is m, f, p (plural), or 0 or `en` (the preposition) without article."""

    english: str
    french: str
    gender: str


class People(NamedTuple):
    """A nationality with its language; what does not exist is empty."""

    english: str
    masculine: str
    feminine: str
    language: str


@cache
def first_names() -> tuple[tuple[str, bool], ...]:
    """First names from many cultures, with whether they are a woman's."""
    return tuple((name, gender == "f") for name, gender, _ in table("names/first_names"))


@cache
def family_names() -> tuple[str, ...]:
    """Family names from many cultures."""
    return tuple(name for name, _ in table("names/family_names"))


@cache
def companies() -> tuple[str, ...]:
    """Companies, called the same in both languages."""
    return tuple(name for name, _ in table("names/companies"))


@cache
def cities() -> tuple[City, ...]:
    """Cities of all continents."""
    return tuple(City(en, fr or en) for en, fr, _ in table("names/cities"))


@cache
def countries() -> tuple[Country, ...]:
    """Countries."""
    return tuple(Country(*row) for row in table("names/countries"))


@cache
def regions() -> tuple[Country, ...]:
    """States, provinces, regions and continents; their prepositions are those of countries."""
    return tuple(Country(*row) for row in table("names/regions"))


@cache
def peoples() -> tuple[People, ...]:
    """Nationalities and languages."""
    return tuple(People(*row) for row in table("names/peoples"))


@cache
def aspirated_names() -> frozenset[str]:
    """Names before which French does not elide, in spite of their H: de Hassan."""
    rows = (("first_names", 0), ("family_names", 0), ("companies", 0), ("cities", 1))
    return frozenset(
        row[column] or row[0]
        for name, column in rows
        for row in table(f"names/{name}")
        if row[-1] == "h"
    )


@cache
def aspirated_words() -> tuple[str, ...]:
    """Beginnings of words before which French does not elide: le haricot, le onze."""
    return tuple(beginning for (beginning,) in table("aspirated_words"))
