"""Measures with their units, temperatures, heights, and durations."""

from functools import cache
from random import Random
from typing import NamedTuple

from ..bitext import Word
from ..lexicon import table
from .values import (
    GLUED,
    Filling,
    after_no_break,
    digits,
    glued,
    joined,
    numeric,
    piece,
    pieces,
    written,
)

_UNIT = 90  # its link; those of the digits are below
_CELSIUS = (("°C", "°C"), ("degrees", "degrés"), ("degrees Celsius", "degrés Celsius"))
_FAHRENHEIT = (("°F", "°F"), ("degrees Fahrenheit", "degrés Fahrenheit"))
_DEGREES = (*_CELSIUS[:1] * 3, *_CELSIUS[1:], *_FAHRENHEIT)


class Unit(NamedTuple):
    """A unit in the plural; `symbol` if French has a no-break space before it."""

    english: str
    french: str
    symbol: bool
    least: int
    most: int


@cache
def units(kind: str) -> list[Unit]:
    """The units of one kind: distance, length, weight, memory, currency, time …"""
    return [
        Unit(en, fr, form == "symbol", int(least), int(most))
        for en, fr, its, form, least, most in table("productions/units")
        if its == kind
    ]


def measure(rng: Random, kind: str) -> Filling:
    """`5 km` and `5km`: 5 km; `16 GB`: 16 Go; `1,200 miles`: 1 200 miles."""
    unit = rng.choice(units(kind))
    value = str(rng.randint(unit.least, unit.most))
    if int(value) < 100 and rng.random() < 0.3:
        value = f"{value}.{rng.randint(1, 9)}"
    english, french = digits(value)
    behind = pieces(unit.english, _UNIT)
    together = unit.symbol and unit.english[0].isalpha() and rng.random() < 0.25
    english = joined(english, behind) if together else [*english, *behind]
    return numeric(value, english, [*french, *_french_unit(unit, value)], "measure")


def _french_unit(unit: Unit, value: str) -> list[Word]:
    name = unit.french if float(value) >= 2 or unit.symbol else unit.french.removesuffix("s")
    named = pieces(name, _UNIT)
    return after_no_break(named) if unit.symbol else named


def attributive(rng: Random, kind: str) -> Filling:
    """`5-km` or `two-hour`, before the noun: de 5 km, de deux heures, behind it."""
    unit = rng.choice(units(f"attributive_{kind}"))
    number = rng.choice([n for n in (2, 3, 4, 5, 6, 7, 9, 10, 12, 20, 30, 45) if n <= unit.most])
    english, of = written(number, number <= 10 and not unit.symbol and rng.random() < 0.6)
    french = [piece("de", 0), piece(of, 0), *_french_unit(unit, "2")]
    return Filling([piece(f"{english}-{unit.english}", 0, _UNIT)], french, "measure")


def duration(rng: Random, kind: str = "time") -> Filling:
    """`45 minutes`, `three weeks`: 45 minutes, trois semaines."""
    unit = rng.choice(units(kind))
    number = rng.randint(unit.least, unit.most)
    english, french = written(number, number < 11 and rng.random() < 0.5)
    sides = [piece(english, 0), piece(unit.english, 1)], [piece(french, 0), piece(unit.french, 1)]
    return numeric(str(number), *sides, "measure")


def temperature(rng: Random, least: int = -30, most: int = 45) -> Filling:
    """`20 °C`, `20°C` and `-5 degrees`; `minus five degrees`: moins cinq degrés."""
    degrees = rng.randint(least, most)
    if abs(degrees) < 2:
        degrees += 4
    if degrees < 0 and rng.random() < 0.2:
        return _minus(-degrees)
    sign = [piece("-", 0)] if degrees < 0 else []
    number = glued([piece(str(abs(degrees)), 0)]) if sign else [piece(str(degrees), 0)]
    sides = [*sign, *number], [*sign, *number]
    return _degrees(rng, str(abs(degrees)), *sides, _DEGREES)


def fever(rng: Random) -> Filling:
    """`38.5 °C`: 38,5 °C."""
    value = f"{rng.randint(36, 40)}.{rng.randint(1, 9)}"
    return _degrees(rng, value, *digits(value), _CELSIUS)


def _minus(degrees: int) -> Filling:
    number = [pieces(text, 1) for text in written(degrees, spelled=True)]
    english = [piece("minus", 0), *number[0], piece("degrees", _UNIT)]
    french = [piece("moins", 0), *number[1], piece("degrés", _UNIT)]
    return Filling(english, french, "measure")


def _degrees(
    rng: Random,
    value: str,
    english: list[Word],
    french: list[Word],
    scales: tuple[tuple[str, str], ...],
) -> Filling:
    name, french_name = rng.choice(scales)
    unit, french_unit = pieces(name, _UNIT), pieces(french_name, _UNIT)
    if name.startswith("°"):
        unit = unit if rng.random() < 0.5 else glued(unit)
        french_unit = after_no_break(french_unit)
    return numeric(value, [*english, *unit], [*french, *french_unit], "measure")


def height(rng: Random) -> Filling:
    """`1.80 m`: 1,80 m; `6 feet 2 inches` and `6 ft 2 in`: 6 pieds 2 pouces; `5'10"` likewise."""
    form = rng.random()
    if form < 0.5:
        value = f"1.{rng.randint(45, 99)}"
        english, french = digits(value)
        if rng.random() < 0.5:
            unit = [piece("m", _UNIT)]
            return numeric(value, english + unit, french + after_no_break(unit), "measure")
        english, french = [*english, piece("meters", _UNIT)], [*french, piece("mètre", _UNIT)]
        return numeric(value, english, french, "measure")
    if form < 0.65:
        number = piece(str(rng.randint(145, 199)), 0)
        centimeters = pieces("cm", _UNIT)
        sides = [number, *centimeters], [number, *after_no_break(centimeters)]
        return numeric(number.text, *sides, "measure")
    return _in_feet(rng)


def _in_feet(rng: Random) -> Filling:
    feet, inches = piece(str(rng.randint(4, 6)), 0), piece(str(rng.randint(2, 11)), 1)
    french = (feet, piece("pieds", _UNIT), inches, piece("pouces", _UNIT + 1))
    first, second = rng.choice((("feet", "inches"), ("ft", "in"), ("'", '"')))
    space = GLUED if first == "'" else None
    big, small = piece(first, _UNIT, space=space), piece(second, _UNIT + 1, space=space)
    number = inches._replace(space=space)
    return Filling((feet, big, number, small), french, "measure")
