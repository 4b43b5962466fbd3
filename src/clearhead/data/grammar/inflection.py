"""Plurals, feminines and English verb forms: rules, with the exceptions of the lexicon first."""

from functools import cache

from .lexicon import Adjective, Noun, table

_BE = {"present": ("am", "are", "is", "are"), "past": ("was", "were", "was", "were")}
_FEMININE = (
    ("eux", "euse"), ("er", "ère"), ("f", "ve"), ("e", "e"),
    ("el", "elle"), ("en", "enne"), ("on", "onne"),
)  # fmt: skip
# Before the first of these a compound's words agree with its head; from there on they stand.
_LINKING = frozenset(
    {"de", "d'", "du", "des", "à", "au", "aux", "dans", "en", "par", "sur", "sans", "pour"}
)


def english_s(base: str) -> str:
    """The -s of plural nouns and of the third person: boxes, cities, goes, books."""
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def english_noun(noun: Noun, plural: bool) -> str:
    """A noun in its number."""
    if not plural:
        return noun.english
    return noun.english_plural or (
        noun.english + "s" if noun.english.endswith("o") else english_s(noun.english)
    )


@cache
def _irregular_english() -> dict[str, tuple[str, str]]:
    return {base: (past, ing) for base, past, ing in table("english_irregular_verbs")}


@cache
def past(base: str) -> str:
    """The simple past: walked, tried, used, ate."""
    if base in _irregular_english():
        return _irregular_english()[base][0]
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + ("d" if base.endswith("e") else "ed")


@cache
def ing(base: str) -> str:
    """The -ing form."""
    if base in _irregular_english():
        return _irregular_english()[base][1]
    return (base[:-1] if base.endswith("e") else base) + "ing"


def third_person(base: str) -> str:
    """The third person singular of the present."""
    return "has" if base == "have" else english_s(base)


def be(tense: str, person: int, plural: bool) -> str:
    """The form of `be`: am, are, is, was, were."""
    return _BE[tense][3 if plural else person - 1]


def french_plural(singular: str) -> str:
    """The regular plural: chevaux, châteaux, jeux, souris, livres."""
    if singular.endswith(("s", "x", "z")):
        return singular
    if singular.endswith(("au", "eu")):
        return singular + "x"
    return singular[:-2] + "aux" if singular.endswith("al") else singular + "s"


def french_noun(noun: Noun, plural: bool) -> str:
    """A noun in its number; of a compound, the head and its adjectives: réseaux de neurones."""
    if not plural:
        return noun.french
    return noun.french_plural or _compound_plural(noun.french)


def _compound_plural(singular: str) -> str:
    out: list[str] = []
    for index, part in enumerate(parts := singular.split(" ")):
        if part.split("'")[0] + "'" * ("'" in part) in _LINKING:
            return " ".join([*out, *parts[index:]])
        out.append(french_plural(part))
    return " ".join(out)


@cache
def french_feminine(adjective: Adjective) -> str:
    """The feminine singular of an adjective."""
    if adjective.feminine:
        return adjective.feminine
    for ending, feminine in _FEMININE:
        if adjective.french.endswith(ending):
            return adjective.french.removesuffix(ending) + feminine
    return adjective.french + "e"


def french_adjective(adjective: Adjective, feminine: bool, plural: bool) -> str:
    """An adjective in its gender and number (bleu takes an s, not an x)."""
    form = french_feminine(adjective) if feminine else adjective.french
    if not plural:
        return form
    if adjective.plural and not feminine:
        return adjective.plural
    return form + "s" if form == "bleu" else french_plural(form)
