"""People, cities, countries, regions, nationalities, languages and companies."""

from collections.abc import Callable
from random import Random

from ..english import takes_an
from ..lexicon import (
    Country,
    cities,
    companies,
    countries,
    family_names,
    first_names,
    peoples,
    regions,
)
from .values import Filling, copied, piece, pieces

_PREPOSITION, _NAME = 0, 1
_VOWELS = "AEIOUÉ"
_MUTE_H = ("Haïti", "Hawaï")
_INITIALS = "ABCDEFGHJKLMNPRSTW"


def first(rng: Random) -> Filling:
    """A first name."""
    name, feminine = rng.choice(first_names())
    return copied(name, "name", f"name:{name}", feminine=feminine)


def man(rng: Random) -> Filling:
    """A man's first name."""
    name = rng.choice([name for name, feminine in first_names() if not feminine])
    return copied(name, "name", f"name:{name}")


def woman(rng: Random) -> Filling:
    """A woman's first name."""
    name = rng.choice([name for name, feminine in first_names() if feminine])
    return copied(name, "name", f"name:{name}", feminine=True)


def family(rng: Random) -> Filling:
    """A family name."""
    name = rng.choice(family_names())
    return copied(name, "name", f"name:{name}")


def full(rng: Random) -> Filling:
    """A first name with a family name: *Amara Diop*, *Amara K. Diop*; of a man also *J. Diop*."""
    (given, feminine), name = rng.choice(first_names()), rng.choice(family_names())
    draw, values = rng.random(), (f"name:{given}", f"name:{name}")
    middle = f" {rng.choice(_INITIALS)}." if draw < 0.06 else ""
    shown = f"{given[0]}." if draw > 0.92 and not feminine else given
    return copied(f"{shown}{middle} {name}", "name", *values, feminine=feminine)


def company(rng: Random) -> Filling:
    """A company."""
    return copied(rng.choice(companies()), "name")


def city(rng: Random) -> Filling:
    """A city; those called the same in both languages may be held out."""
    found = rng.choice(cities())
    if found.english == found.french:
        return copied(found.english, "place_name", f"name:{found.english}")
    english, french = pieces(found.english, _NAME), pieces(found.french, _NAME)
    return Filling(tuple(english), tuple(french), "place_name")


def in_country(rng: Random) -> Filling:
    """`in Canada`: au Canada; `in France`: en France; `in the United States`: aux États-Unis."""
    return _where(rng, "in", _to)


def to_country(rng: Random) -> Filling:
    """`to Canada`: au Canada."""
    return _where(rng, "to", _to)


def from_country(rng: Random) -> Filling:
    """`from Canada`: du Canada; `from France`: de France; `from Iran`: d'Iran."""
    return _where(rng, "from", _from)


def land(rng: Random) -> Filling:
    """`Canada` behind a city, *Toronto, Canada*: au Canada."""
    found = rng.choice([one for one in countries() if not one.english.startswith("the ")])
    french = (piece(_to(found), _NAME), *pieces(found.french, _NAME))
    return Filling(tuple(pieces(found.english, _NAME)), french, "place_name")


def country(rng: Random) -> Filling:
    """`Canada`: le Canada; in the singular."""
    found = rng.choice([one for one in countries() if one.gender != "p"])
    article = {"m": "le", "f": "la"}.get(found.gender, "")
    if article and found.french[0] in _VOWELS:
        article = "l'"
    name = pieces(found.french, _NAME)
    french = [piece(article, _NAME), *name] if article else name
    sides = tuple(pieces(found.english, _NAME)), tuple(french)
    return Filling(*sides, "place_name", (), found.gender == "f")


def nationality(rng: Random) -> Filling:
    """`Canadian`, of a man: canadien."""
    return _nationality(rng, False)


def nationality_feminine(rng: Random) -> Filling:
    """`Canadian`, of a woman or something feminine: canadienne."""
    return _nationality(rng, True)


def _nationality(rng: Random, feminine: bool) -> Filling:
    found = rng.choice([people for people in peoples() if people.masculine])
    form = found.feminine if feminine else found.masculine
    return Filling(tuple(pieces(found.english, 0)), tuple(pieces(form, 0)), "place_name")


def a_nationality(rng: Random) -> Filling:
    """`a Canadian`, before a noun that French has in the feminine: canadienne, behind it."""
    found = nationality_feminine(rng)
    article = "an" if takes_an(found.english[0].text) else "a"
    return Filling((piece(article, 0), *found.english), found.french, "place_name")


def language(rng: Random) -> Filling:
    """`French`: français."""
    found = rng.choice([people for people in peoples() if people.language])
    return Filling((piece(found.english, 0),), (piece(found.language, 0),), "place_name")


def _to(found: Country) -> str:
    if found.gender == "m" and found.french[0] not in _VOWELS:
        return "au"
    return {"p": "aux", "0": "à"}.get(found.gender, "en")


def _from(found: Country) -> str:
    vowel = found.french[0] in _VOWELS or found.french in _MUTE_H
    if found.gender != "p" and vowel:
        return "d'"
    return {"m": "du", "p": "des"}.get(found.gender, "de")


def _where(rng: Random, english: str, preposition: Callable[[Country], str]) -> Filling:
    found = rng.choice((*countries(), *regions()))
    french = (piece(preposition(found), _PREPOSITION), *pieces(found.french, _NAME))
    words = pieces(found.english, _NAME)
    if words[0].text == "the":  # aux, des hold the article
        words[0] = piece("the", _PREPOSITION)
    return Filling((piece(english, _PREPOSITION), *words), french, "place_name")
