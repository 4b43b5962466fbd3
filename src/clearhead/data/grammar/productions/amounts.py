"""Money, percentages, counts, ranges, fractions, ordinals and other numbers."""

from random import Random

from ..bitext import Word
from ..lexicon import table
from .measures import units
from .values import (
    GLUED,
    Filling,
    after_no_break,
    copied,
    digits,
    english_ordinal,
    english_suffix,
    french_ordinal,
    french_suffix,
    glued,
    joined,
    numeric,
    one_to_one,
    piece,
    pieces,
    written,
)

_UNIT, _SCALE = 90, 91  # links; those of the digits are below
MILLION, BILLION = ("million", "million", "M"), ("billion", "milliard", "B")
_SIGNS = (
    *[("$", "dollars")] * 8, *[("£", "livres")] * 2, ("US$", "dollars américains"),
    ("CA$", "dollars canadiens"), ("¥", "yens"), ("₹", "roupies"),
)  # fmt: skip
_CODES = ("USD", "EUR", "GBP", "CAD", "CHF")  # the same in both languages


def price(rng: Random, most: int = 9999) -> Filling:
    """`$1,250.50`: 1 250,50 dollars; `€20` or `20 €`: 20 €; `£15`: 15 livres; `50 USD`."""
    draw = rng.random()
    if draw < 0.2:
        return _named_currency(rng, most)
    value = _amount(rng, most)
    english, french = digits(value)
    if draw < 0.38:
        sign = piece("€", _UNIT)
        before = [sign, *glued(english)]
        behind = [*english, rng.choice((sign, sign._replace(space=GLUED)))]
        shown = rng.choice((before, behind))
        return numeric(value, shown, [*french, *after_no_break([sign])], "money")
    if draw < 0.43:
        code = piece(rng.choice(_CODES), _UNIT)
        return numeric(value, [*english, code], [*french, *after_no_break([code])], "money")
    mark, name = rng.choice(_SIGNS)
    space = rng.random() < 0.1
    signed = [*pieces(mark, _UNIT), *(english if space else glued(english))]
    return numeric(value, signed, [*french, *_currency(name, value)], "money")


def _currency(french: str, value: str) -> list[Word]:
    """The name of a currency, in the singular below two."""
    singular = " ".join(word.removesuffix("s") for word in french.split())
    return pieces(french if float(value) >= 2 else singular, _UNIT)


def _named_currency(rng: Random, most: int) -> Filling:
    """`500 yen`: 500 yens; `12.50 dollars`: 12,50 dollars; `twenty euros`: vingt euros."""
    unit = rng.choice(units("currency"))
    named = pieces(unit.english, _UNIT), pieces(unit.french, _UNIT)
    draw = rng.random()
    if draw < 0.2:
        number = rng.choice((*range(2, 20), *range(20, 100, 10), *range(200, 1000, 100)))
        words = [pieces(text, 0) for text in written(number, spelled=True)]
        return Filling(words[0] + named[0], words[1] + named[1], "money")
    value = str(rng.randint(unit.least, max(unit.least, min(unit.most, most))))
    if draw < 0.4 and unit.english in ("dollars", "euros", "pounds", "Swiss francs"):
        value = f"{value}.{rng.randint(5, 99):02d}"
    english, french = digits(value)
    return numeric(value, [*english, *named[0]], [*french, *_currency(unit.french, value)], "money")


def fortune(rng: Random) -> Filling:
    """`$2.5 billion` and `$2.5B`: 2,5 milliards de dollars; `€3 million`: 3 millions d'euros."""
    value, (english, french) = _scaled(rng, rng.choice((MILLION, BILLION)))
    draw = rng.random()
    sign, name = (
        ("€", "euros") if draw < 0.2 else ("£", "livres") if draw < 0.3 else ("$", "dollars")
    )
    french += [piece("de", _UNIT)._replace(before_vowel="d'"), piece(name, _UNIT)]
    if draw > 0.9 and sign != "£":
        return numeric(value, [*english, piece(name, _UNIT)], french, "money")
    return numeric(value, [piece(sign, _UNIT), *glued(english)], french, "money")


def large(rng: Random, scale: tuple[str, str, str]) -> Filling:
    """`1.4 million` people: 1,4 million; `7B` parameters: 7 milliards; what is counted follows."""
    value, (english, french) = _scaled(rng, scale)
    of = piece("de", _SCALE)._replace(before_vowel="d'")
    return numeric(value, english, [*french, of], "number")


def _scaled(rng: Random, scale: tuple[str, str, str]) -> tuple[str, tuple[list[Word], list[Word]]]:
    value = rng.choice((str(rng.randint(1, 180)), f"{rng.randint(1, 99)}.{rng.randint(1, 9)}"))
    english, french = digits(value)
    plural = scale[1] + "s" if float(value) >= 2 else scale[1]
    short = rng.random() < 0.15
    name = [piece(scale[2] if short else scale[0], _SCALE)]
    shown = joined(english, name) if short else [*english, *name]
    return value, (shown, [*french, piece(plural, _SCALE)])


def _amount(rng: Random, most: int) -> str:
    whole = rng.choice((rng.randint(1, min(99, most)), rng.randint(1, most)))
    return str(whole) if rng.random() < 0.5 else f"{whole}.{rng.randint(1, 99):02d}"


def percent(rng: Random, most: int = 99) -> Filling:
    """`5.2 %` and `5.2%`: 5,2 %; `5 percent` and `5 per cent`: 5 pour cent."""
    value = str(rng.randint(1, most))
    if rng.random() < 0.6:
        value = f"{value}.{rng.randint(1, 9)}"
    english, french = digits(value)
    form = rng.random()
    if form < 0.2:
        english += pieces("percent" if form < 0.14 else "per cent", _UNIT)
        return numeric(value, english, [*french, *pieces("pour cent", _UNIT)], "percent")
    sign = piece("%", _UNIT, space=GLUED if form < 0.8 else None)
    return numeric(value, [*english, sign], [*french, *after_no_break([sign])], "percent")


def count(rng: Random, most: int = 900_000) -> Filling:
    """A whole number, at least two, in digits: 1,250 and 1 250; 1250 without a comma as well."""
    value = str(rng.randint(2, min(most, rng.choice((99, 999, 9999, most)))))
    english, french = digits(value)
    if len(value) > 3 and rng.random() < 0.15:
        links = frozenset(link for word in english for link in word.links)
        english = [Word(value, links)]
    elif len(value) in (2, 3) and int(value) * 1000 <= most and rng.random() < 0.1:
        english = joined(english, [piece(rng.choice("kK"), _UNIT)])
        french = [*french, piece("000", _UNIT, space="\u202f")]
    return numeric(value, english, french, "number")


def small_count(rng: Random) -> Filling:
    """A number in words, mostly below 100: thirty-four, trente-quatre; two hundred, deux cents."""
    number = rng.choice([n for n in range(2, 100) if n % 10 != 1 or n in (11, 71, 91)])
    if rng.random() < 0.15:
        number = rng.choice((*range(200, 1000, 50), *range(2000, 10_000, 500)))
    return one_to_one(*written(number, spelled=True), "number")


def decimal(rng: Random) -> Filling:
    """`0.001`: 0,001; `12.75`: 12,75; `1e-4`, in both languages."""
    draw = rng.random()
    if draw < 0.1:
        return copied(f"{rng.randint(1, 9)}e-{rng.randint(1, 9)}", "number")
    long = f"0.{rng.randint(1, 999):0{rng.choice((2, 3, 4))}d}"
    value = long if draw < 0.6 else f"{rng.randint(0, 40)}.{rng.randint(1, 99)}"
    return numeric(value, *digits(value), "number")


def negative(rng: Random) -> Filling:
    """`-12` and `-0.5`: -12, -0,5; `minus twelve`: moins douze."""
    if rng.random() < 0.2:
        words = written(rng.randint(2, 60), spelled=True)
        return one_to_one(f"minus {words[0]}", f"moins {words[1]}", "number")
    value = rng.choice((str(rng.randint(1, 400)), f"{rng.randint(0, 30)}.{rng.randint(1, 9)}"))
    minus, (english, french) = [piece("-", _UNIT)], digits(value)
    return numeric(value, minus + glued(english), minus + glued(french), "number")


def number_range(rng: Random, most: int = 60) -> Filling:
    """`10-15`, `10–15` and `10 to 15`: 10 à 15."""
    least = rng.choice((rng.randint(2, 20), 5 * rng.randint(2, most // 5)))
    high = least + rng.choice((1, 2, 3, 5, 10, 20))
    mark = rng.choice(("-", "-", "–", "to"))
    first, second = piece(str(least), 0), piece(str(high), 1)
    french = (first, piece("à", 2), second)
    if mark == "to":
        return Filling((first, piece(mark, 2), second), french, "number")
    if mark == "-":
        return Filling((piece(f"{least}-{high}", 0, 1, 2),), french, "number")
    english = (first, piece(mark, 2, space=GLUED), second._replace(space=GLUED))
    return Filling(english, french, "number")


def percent_range(rng: Random) -> Filling:
    """`10-15%`: 10 à 15 %."""
    found = number_range(rng)
    sign = [piece("%", _UNIT, space=GLUED)]
    return Filling((*found.english, *sign), (*found.french, *after_no_break(sign)), "percent")


def multiple(rng: Random) -> Filling:
    """`2x`, `10 times` and `three times`: 2 fois, 10 fois, trois fois."""
    number, draw = rng.choice((2, 3, 4, 5, 6, 8, 10, 12, 20, 50, 100)), rng.random()
    shown, french = written(number, spelled=draw > 0.7 and number < 100)
    english = [piece(shown, 0), piece("times", 1)]
    if draw < 0.45:
        mark = rng.choice("xx×")
        english = [piece(f"{number}x", 0, 1)] if mark == "x" else pieces(f"{number}×", 0, 1)
    return Filling(english, (piece(french, 0), piece("fois", 1)), "number")


def fraction(rng: Random) -> Filling:
    """`3/4`, in both languages."""
    below = rng.randint(2, 10)
    return copied(f"{rng.randint(1, below - 1)}/{below}", "number")


def share(rng: Random) -> Filling:
    """`two thirds`: les deux tiers; *of* and *de* follow."""
    english, french = rng.choice(table("productions/shares"))
    return one_to_one(english, french, "number")


def ordinal(rng: Random, feminine: bool = False) -> Filling:
    """`4th` and `fourth`: 4e, quatrième; of something feminine `1st` and `first`: 1re, première."""
    number = rng.choice((rng.randint(1, 12), rng.randint(1, 60)))
    if rng.random() < 0.5:
        number = number if rng.random() < 0.9 else rng.randint(61, 150)
        english, french = english_suffix(number), french_suffix(number, feminine)
    else:
        english, french = english_ordinal(number), french_ordinal(number, feminine)
    return one_to_one(english, french, "ordinal")


def year_old(rng: Random) -> Filling:
    """`34-year-old`, before the noun: de 34 ans, behind it. None that English has *an* before."""
    number = str(rng.choice((rng.randint(19, 79), rng.randint(90, 99))))
    french = (piece("de", 0), piece(number, 0), piece("ans", 0))
    return Filling((piece(f"{number}-year-old", 0),), french, "number")


def age(rng: Random, least: int = 16, most: int = 99) -> Filling:
    """An age in years: the same digits in both languages."""
    return copied(str(rng.randint(least, most)), "number")


def score(rng: Random, most: int = 9) -> Filling:
    """`3-1` in both languages, `3 to 1`: 3 à 1; the winner's goals come first."""
    high = rng.randint(max(1, most // 2), most)
    low = rng.randint(most // 3 if most > 9 else 0, high - 1)
    if rng.random() < 0.15:
        first, second = piece(str(high), 0), piece(str(low), 2)
        return Filling((first, piece("to", 1), second), (first, piece("à", 1), second), "number")
    mark = "–" if rng.random() < 0.15 else "-"
    return copied(f"{high}{mark}{low}", "number")
