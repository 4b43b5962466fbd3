"""People, cities, countries, regions, nationalities, languages and companies."""

from collections.abc import Sequence
from random import Random

from .. import lexicon
from ..english import takes_an
from .values import Filling, copied, piece, pieces

_PREPOSITION, _NAME = 0, 1
_VOWELS = "AEIOUÉ"
_MUTE_H = ("Haïti", "Hawaï")
_INITIALS = "ABCDEFGHJKLMNPRSTW"


def first(rng: Random, genders: Sequence[bool] = (False, True)) -> Filling:
    """A first name: a man's (False), a woman's (True) or either."""
    name, feminine = rng.choice([row for row in lexicon.first_names() if row[1] in genders])
    return copied(name, "name", f"name:{name}", feminine=feminine)


def family(rng: Random) -> Filling:
    """A family name."""
    name = rng.choice(lexicon.family_names())
    return copied(name, "name", f"name:{name}")


def full(rng: Random) -> Filling:
    """A first name with a family name: *Amara Diop*, *Amara K. Diop*; of a man also *J. Diop*."""
    (given, feminine), name = rng.choice(lexicon.first_names()), rng.choice(lexicon.family_names())
    draw, values = rng.random(), (f"name:{given}", f"name:{name}")
    middle = f" {rng.choice(_INITIALS)}." if draw < 0.06 else ""
    shown = f"{given[0]}." if draw > 0.92 and not feminine else given
    return copied(f"{shown}{middle} {name}", "name", *values, feminine=feminine)


def company(rng: Random) -> Filling:
    """A company."""
    return copied(rng.choice(lexicon.companies()), "name")


def city(rng: Random) -> Filling:
    """A city; those called the same in both languages may be held out."""
    found = rng.choice(lexicon.cities())
    if found.english == found.french:
        return copied(found.english, "place_name", f"name:{found.english}")
    english, french = pieces(found.english, _NAME), pieces(found.french, _NAME)
    return Filling(english, french, "place_name")


def with_country(rng: Random, english: str) -> Filling:
    """`in Canada`, `to Canada`: au Canada; `from Canada`: du Canada; `from Iran`: d'Iran."""
    found = rng.choice((*lexicon.countries(), *lexicon.regions()))
    preposition = _from(found) if english == "from" else _to(found)
    words = pieces(found.english, _NAME)
    if words[0].text == "the":  # aux, des hold the article
        words[0] = piece("the", _PREPOSITION)
    french = (piece(preposition, _PREPOSITION), *pieces(found.french, _NAME))
    return Filling((piece(english, _PREPOSITION), *words), french, "place_name")


def land(rng: Random) -> Filling:
    """`Canada` behind a city, *Toronto, Canada*: au Canada."""
    found = rng.choice([one for one in lexicon.countries() if not one.english.startswith("the ")])
    french = (piece(_to(found), _NAME), *pieces(found.french, _NAME))
    return Filling(pieces(found.english, _NAME), french, "place_name")


def country(rng: Random) -> Filling:
    """`Canada`: le Canada; in the singular."""
    found = rng.choice([one for one in lexicon.countries() if one.gender != "p"])
    article = {"m": "le", "f": "la"}.get(found.gender, "")
    if article and found.french[0] in _VOWELS:
        article = "l'"
    name = pieces(found.french, _NAME)
    french = [piece(article, _NAME), *name] if article else name
    sides = pieces(found.english, _NAME), french
    return Filling(*sides, "place_name", (), found.gender == "f")


def nationality(rng: Random, feminine: bool = False) -> Filling:
    """`Canadian`, of a man: canadien; of a woman or something feminine: canadienne."""
    found = rng.choice([people for people in lexicon.peoples() if people.masculine])
    form = found.feminine if feminine else found.masculine
    return Filling(pieces(found.english, 0), pieces(form, 0), "place_name")


def a_nationality(rng: Random) -> Filling:
    """`a Canadian`, before a noun that French has in the feminine: canadienne, behind it."""
    found = nationality(rng, feminine=True)
    article = "an" if takes_an(found.english[0].text) else "a"
    return Filling((piece(article, 0), *found.english), found.french, "place_name")


def language(rng: Random) -> Filling:
    """`French`: français."""
    found = rng.choice([people for people in lexicon.peoples() if people.language])
    return Filling((piece(found.english, 0),), (piece(found.language, 0),), "place_name")


def _to(found: lexicon.Country) -> str:
    if found.gender == "m" and found.french[0] not in _VOWELS:
        return "au"
    return {"p": "aux", "0": "à"}.get(found.gender, "en")


def _from(found: lexicon.Country) -> str:
    vowel = found.french[0] in _VOWELS or found.french in _MUTE_H
    if found.gender != "p" and vowel:
        return "d'"
    return {"m": "du", "p": "des"}.get(found.gender, "de")
