"""What French writes in its own way: countries, regions, peoples, some cities, units.

`missing_exonyms` compares the translation with the lexicon of the grammar: Latvia has arrived as
*Lettonie*, and also as *letton*, for the government of Latvia is *le gouvernement letton*. Behind
a wrong preposition (*à Lettonie*) a country counts as missing.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from clearhead.data.grammar.lexicon import Country, People, cities, countries, peoples, regions
from clearhead.translation.doubt.numbers import folded

# Also names of people, so that the English spelling may stay.
_PEOPLE = frozenset({"Chad", "Georgia", "Jordan", "Virginia", "Carolina"})
_ALSO = {"Vietnam": ("Vietnam",), "India": ("Indes",)}  # other correct spellings
_UNITS = {
    **{"kB": ("ko", "kilooctets"), "MB": ("Mo", "mégaoctets"), "GB": ("Go", "gigaoctets")},
    **{"TB": ("To", "téraoctets"), "nm": ("nm", "nanomètres"), "µm": ("µm", "micromètres")},
    **{"mm": ("mm", "millimètres"), "cm": ("cm", "centimètres"), "km": ("km", "kilomètres")},
    **{"mg": ("mg", "milligrammes"), "kg": ("kg", "kilos"), "ml": ("ml", "millilitres")},
}
_UNIT = re.compile(rf"(?<=\d)[ \u00a0]?({'|'.join(_UNITS)})\b")
_SAME_START = 4  # letters that a country and its people share in French: Angleterre, anglais
# By the gender of a country: the prepositions that it never has.
_NEVER = {"m": "à|en|de", "f": "à|au|du", "vowel": "à|au|du|de", "p": "à|en|au|du", "0": "en|au|du"}
_VOWEL = re.compile("[aeiouàâéèêîôû]|h(?!on)", re.IGNORECASE)  # de Hongrie, du Honduras
_EITHER = frozenset({"Israel", "Haiti"})  # without an article: en Israël, en or à Haïti


class Exonym(NamedTuple):
    """A name with its French forms: of a people masculine, feminine, and both in the plural.

    `kind` is `city`, `people`, or the gender of a country (`vowel`: it begins with one).
    """

    english: str
    forms: tuple[str, ...]
    kind: str


# Of each kind, names that are frequent in the training data, for the second search.
STAND_INS: dict[str, tuple[str, ...]] = {
    "m": ("Canada", "Japan", "Portugal"),
    "f": ("France", "Belgium", "Germany"),
    "vowel": ("Italy", "Australia", "England"),
    "p": ("United States", "Netherlands", "Philippines"),
    "0": ("Cuba", "Malta", "Cyprus"),
    "people": ("Canadian", "Italian", "Mexican"),
    "bytes": ("GB", "MB", "TB"),
    "unit": ("km", "kg", "cm"),
    "peoples": ("Canadians", "Italians", "Mexicans"),
}


def missing_exonyms(source: str, translation: str) -> tuple[list[str], str]:
    """The names whose French form is missing or misplaced, and the source with spaces for names."""
    words = translation.casefold().replace("’", "'")
    found = [match[0] for match in _pattern().finditer(source)]
    found += [match[1] for match in _UNIT.finditer(source)]
    missing = [name for name in found if not _arrives(exonyms()[name], words)]
    for pattern in (_pattern(), _UNIT):
        source = pattern.sub(lambda match: " " * len(match[0]), source)
    return missing, source


def _arrives(exonym: Exonym, words: str) -> bool:
    if exonym.kind == "city" or exonym.english in _PEOPLE:
        return any(_begins(words, form) for form in (exonym.english, *exonym.forms))
    for form in (*exonym.forms, *_ALSO.get(exonym.english, ())):
        found = _whole(form.casefold(), words)
        if found and not _misplaced(exonym, words[: found.start()]):
            return True
        if not found and _whole(folded(form), folded(words)) and not form[0].isascii():
            return True  # Etats-Unis: capitals may lose their accents
    related = {form for form in _spellings() if any(_related(form, own) for own in exonym.forms)}
    return any(_whole(form, words) for form in related - {f.casefold() for f in exonym.forms})


def _misplaced(exonym: Exonym, before: str) -> bool:
    """Whether it follows a preposition that it never has, or begins a sentence without article."""
    never = "au|du" if exonym.english in _EITHER else _NEVER.get(exonym.kind)
    if never is None:
        return False
    return (not before and exonym.kind != "0") or bool(re.search(rf"\b(?:{never}) $", before))


def _whole(form: str, words: str) -> re.Match[str] | None:
    return re.search(rf"(?<!\w){re.escape(form)}(?!\w)", words)


def _related(form: str, own: str) -> bool:
    return folded(form)[:_SAME_START] == folded(own)[:_SAME_START]


def _begins(words: str, form: str) -> bool:
    """Whether a word begins as the longest word of the form."""
    longest = max(folded(form).split(), key=len)
    return f" {longest[:_SAME_START]}" in f" {folded(words)}"


@cache
def exonyms() -> dict[str, Exonym]:
    """All names by their English form; of two with the same one, the country."""
    every = [
        *(Exonym(english, (french,), "city") for english, french in cities() if english != french),
        *map(_people, peoples()),
        *map(_plural, filter(_has_plural, peoples())),
        *(_country(one) for one in regions() if one.english != one.french),
        *map(_country, countries()),
        Exonym("America", ("Amérique", "États-Unis"), "other"),
        *_units(),
    ]
    return {exonym.english: exonym for exonym in every}


def _country(country: Country) -> Exonym:
    kind = {"en": "0"}.get(country.gender, country.gender)
    if kind in "mf" and _VOWEL.match(country.french):
        kind = "vowel"
    return Exonym(country.english.removeprefix("the "), (country.french,), kind)


def _people(people: People) -> Exonym:
    forms = [form for form in (people.masculine, people.feminine) if form]
    plural = [form if form[-1] in "sx" else f"{form}s" for form in forms]
    if people.language in forms or not people.language:
        return Exonym(people.english, (*forms, *plural), "people")
    return Exonym(people.english, (*forms, *plural, people.language), "people or language")


def _units() -> Iterator[Exonym]:
    for unit, forms in _UNITS.items():
        yield Exonym(unit, forms, "bytes" if unit.endswith("B") else "unit")


def _has_plural(people: People) -> bool:
    """Two Canadians; but two Japanese, the Dutch."""
    return people.english.endswith(("an", "i"))


def _plural(people: People) -> Exonym:
    one = _people(people)
    return one._replace(english=f"{people.english}s", kind=one.kind.replace("people", "peoples"))


@cache
def _pattern() -> re.Pattern[str]:
    names = sorted(exonyms().keys() - _UNITS.keys(), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")


@cache
def _spellings() -> frozenset[str]:
    """Every French form of a country or a people."""
    rows = (one.forms for one in exonyms().values() if one.kind != "city")
    return frozenset(form.casefold() for forms in rows for form in forms)


def french_swaps(stand_in: str, original: str) -> Iterator[tuple[str, str]]:
    """Each form of a stand-in with the same form of the original, also with a capital."""
    pairs = zip(exonyms()[stand_in].forms, exonyms()[original].forms, strict=True)
    for one, other in dict.fromkeys(pairs):
        yield one, other
        if one[0].islower():
            yield one[0].upper() + one[1:], other[0].upper() + other[1:]
