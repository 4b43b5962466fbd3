"""The lexicon: what the tables in `lexicon/` say, read once, checked by the tests."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Tags = frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A common noun; `tags` say what it may be said of it (human, food, mass …)."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    feminine: bool
    tags: Tags


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective; `place` is where it stands in French: before, after or predicate only."""

    english: str
    french: str
    feminine: str
    place: str
    before_vowel: str
    tags: Tags
    comparative: str


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
    links: tuple[tuple[int, int], ...]
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
    """An article, possessive, demonstrative or number; an empty form does not exist."""

    name: str
    singular: str
    plural: str
    masculine: str
    feminine: str
    french_plural: str
    masculine_vowel: str
    feminine_vowel: str


def table(name: str) -> list[list[str]]:
    """The rows of one lexicon table, the comment line left out."""
    text = files(__package__).joinpath("lexicon", f"{name}.tsv").read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


def _tags(cell: str) -> Tags:
    return frozenset(cell.split())


@cache
def nouns() -> tuple[Noun, ...]:
    """Every common noun; its own English name is one of its tags."""
    return tuple(
        Noun(en, en_plural, fr, fr_plural, gender == "f", _tags(tags) | {en})
        for en, en_plural, fr, fr_plural, gender, tags in table("nouns")
    )


@cache
def adjectives() -> tuple[Adjective, ...]:
    """Every adjective."""
    return tuple(
        Adjective(en, fr, feminine, place, vowel, _tags(tags), comparative)
        for en, fr, feminine, place, vowel, tags, comparative in table("adjectives")
    )


@cache
def verbs() -> tuple[Verb, ...]:
    """Every verb frame; a verb with two frames (play) has two."""
    return tuple(map(_verb, table("verbs")))


def _verb(row: list[str]) -> Verb:
    en, fr, frame, subjects, objects, features = row
    reflexive = fr.startswith(("se ", "s'"))
    bare = fr.removeprefix("se ").removeprefix("s'") if reflexive else fr
    tags = map(_tags, (subjects, objects, features))
    return Verb(tuple(en.split()), tuple(bare.split()), reflexive, frame, *tags)


def adverbial(en: str, fr: str, links: str, slot: str, when: str) -> Adverbial:
    """An adverbial from its five cells; links are written `0-0 1-2`."""
    pairs = tuple((int(s), int(t)) for s, t in (link.split("-") for link in links.split()))
    return Adverbial(tuple(en.split()), tuple(fr.split()), pairs, slot, when)
