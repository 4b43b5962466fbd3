"""Dates, weekdays, months, seasons, years, decades and centuries."""

from calendar import monthrange
from random import Random

from ..bitext import Word
from ..lexicon import table
from .values import (
    GLUED,
    NO_BREAK,
    Filling,
    copied,
    english_ordinal,
    english_suffix,
    english_words,
    piece,
    pieces,
    roman,
)

_DAY, _MONTH, _YEAR, _WEEKDAY = 0, 1, 2, 3
_SLASHES = (10, 11)  # links of the two slashes of a date in numbers
_SEASONS = (("spring", "printemps"), ("summer", "été"), ("autumn", "automne"),
            ("fall", "automne"), ("winter", "hiver"))  # fmt: skip
_FULL = frozenset({"May", "June", "July"})  # months without an abbreviation


def months() -> list[list[str]]:
    """The months in English and French."""
    return table("productions/months")


def date(rng: Random) -> Filling:
    """`March 14, 1987`, `14th March 1987`, `March 14 1987`: 14 mars 1987; `3/14/1987`."""
    month, day, year = *_day(rng), _recent(rng)
    draw, written = rng.random(), piece(str(year), _YEAR)
    values = (f"date:{month}-{day}", f"year:{year}")
    if draw < 0.1 and day > 12:
        return _in_numbers(rng, (month, day, year), values)
    if draw < 0.28:
        shown = str(day) if draw < 0.24 else english_suffix(day)
        english = [piece(shown, _DAY), *_month(rng, month), written]
    elif draw < 0.33:
        name = pieces(f"of {months()[month - 1][0]}", _MONTH)
        english = [piece(english_suffix(day), _DAY), *name, written]
    else:
        comma = [piece(",", _YEAR, space=GLUED)] if draw < 0.92 else []
        english = [*_english_day(rng, month, day), *comma, written]
    return Filling(english, (*_french_day(month, day), written), "date", values)


def _in_numbers(rng: Random, whole: tuple[int, int, int], values: tuple[str, ...]) -> Filling:
    """`3/14/1987` and `14/03/1987`: 14/03/1987. Days up to 12 would be ambiguous."""
    month, day, year = whole
    written = str(month) if rng.random() < 0.6 else f"{month:02d}"
    shown = [piece(written, _MONTH), piece(str(day), _DAY)]
    english = shown if rng.random() < 0.6 else shown[::-1]
    french = [piece(str(day), _DAY), piece(f"{month:02d}", _MONTH)]
    last = piece(str(year), _YEAR)
    return Filling(_slashed([*english, last]), _slashed([*french, last]), "date", values)


def _slashed(parts: list[Word]) -> tuple[Word, ...]:
    first, second, third = parts
    slashes = [piece("/", link, space=GLUED) for link in _SLASHES]
    second, third = second._replace(space=GLUED), third._replace(space=GLUED)
    return first, slashes[0], second, slashes[1], third


def day_month(rng: Random) -> Filling:
    """`March 14`: 14 mars, or 1er mars."""
    month, day = _day(rng)
    sides = _english_day(rng, month, day), _french_day(month, day)
    return Filling(*sides, "date", (f"date:{month}-{day}",))


def weekday_date(rng: Random) -> Filling:
    """`Monday, March 14`: lundi 14 mars."""
    month, day = _day(rng)
    name = weekday(rng)
    comma = [piece(",", _WEEKDAY, space=GLUED)] if rng.random() < 0.8 else []
    english = [*name.english, *comma, *_english_day(rng, month, day)]
    french = [*name.french, *_french_day(month, day)]
    return Filling(english, french, "date", (f"date:{month}-{day}",))


def day_of_month(rng: Random) -> Filling:
    """`14th`: 14; `1st`: 1er. The articles are the sentence's."""
    day = rng.randint(1, 31)
    return Filling((piece(english_suffix(day), _DAY),), (_french_number(day),), "date")


def month(rng: Random) -> Filling:
    """`March`: mars."""
    english, french = rng.choice(months())
    return Filling((piece(english, _MONTH),), (piece(french, _MONTH),), "date")


def month_year(rng: Random) -> Filling:
    """`March 1987`: mars 1987."""
    name, year = month(rng), _recent(rng)
    last = piece(str(year), _YEAR)
    return Filling((*name.english, last), (*name.french, last), "date", (f"year:{year}",))


def in_season(rng: Random) -> Filling:
    """`in the summer of 1998`: à l'été 1998; `in the spring of 1998`: au printemps 1998."""
    (name, french_name), year = rng.choice(_SEASONS), _recent(rng)
    last = piece(str(year), _YEAR)
    english = (piece("in", _DAY), piece("the", _DAY), piece(name, _MONTH), piece("of", _YEAR), last)
    article = piece("le", _DAY)._replace(before_vowel="l'")
    french = (piece("à", _DAY), article, piece(french_name, _MONTH), last)
    return Filling(english, french, "date", (f"year:{year}",))


def weekday(rng: Random) -> Filling:
    """`Monday`: lundi."""
    english, french = rng.choice(table("productions/weekdays"))
    return Filling((piece(english, _WEEKDAY),), (piece(french, _WEEKDAY),), "date")


def on_weekday(rng: Random) -> Filling:
    """`on Monday`: lundi, without a preposition."""
    day = weekday(rng)
    return Filling((piece("on", _WEEKDAY), *day.english), day.french, "date")


def year(rng: Random) -> Filling:
    """`1987`, in both languages."""
    value = _year(rng)
    return copied(str(value), "date", f"year:{value}")


def ancient_year(rng: Random) -> Filling:
    """`44 BC`: 44 av. J.-C.; `79 AD` and `AD 79`: 79 apr. J.-C."""
    value, before = rng.randint(10, 800), rng.random() < 0.7
    number = piece(str(value), _YEAR)
    era = piece("BC" if before else "AD", _MONTH)
    english = (era, number) if not before and rng.random() < 0.5 else (number, era)
    written = f"{'av.' if before else 'apr.'}{NO_BREAK}J.-C."
    french = (number, *pieces(written, _MONTH, space=NO_BREAK))
    return Filling(english, french, "date", (f"year:{value}",) if value > 99 else ())


def decade(rng: Random) -> Filling:
    """`1980s`, `80s` or `eighties`: années 1980, années 80; the article is the sentence's."""
    draw = rng.random()
    if draw < 0.4:
        tens = rng.randrange(20, 100, 10)
        name = english_words(tens)[:-1] + "ies"
        shown = [piece(name, 0)] if draw < 0.25 else pieces(f"{tens}s", 0)
        shown = pieces(f"'{tens}s", 0) if draw < 0.08 else shown
        return Filling(shown, (piece("années", 0), piece(str(tens), 0)), "date")
    value = rng.randrange(1700, 2030, 10)
    french = (piece("années", 0), piece(str(value), 0))
    return Filling((piece(f"{value}s", 0),), french, "date", (f"decade:{value}",))


def century(rng: Random) -> Filling:
    """`19th century` or `nineteenth century`: XIXe siècle."""
    number = rng.randint(1, 21)
    form = english_ordinal(number) if rng.random() < 0.4 else english_suffix(number)
    numeral = roman(number) + ("er" if number == 1 else "e")
    english = (*pieces(form, 0), piece("century", 1))
    return Filling(english, (piece(numeral, 0), piece("siècle", 1)), "date")


def iso_date(rng: Random) -> Filling:
    """`2024-03-14`, in both languages."""
    (month, day), value = _day(rng), _recent(rng)
    text = f"{value}-{month:02d}-{day:02d}"
    return copied(text, "date", f"date:{month}-{day}", f"year:{value}")


def _day(rng: Random) -> tuple[int, int]:
    number = rng.randint(1, 12)
    return number, rng.randint(1, monthrange(2024, number)[1])


def _year(rng: Random) -> int:
    return rng.randint(1400, 1899) if rng.random() < 0.25 else _recent(rng)


def _recent(rng: Random) -> int:
    return rng.randint(1900, 2035)


def _english_day(rng: Random, number: int, day: int) -> list[Word]:
    """`March 14`, `March 14th`, `Mar. 14`, `14 March` or `the 14th of March`."""
    draw = rng.random()
    if draw < 0.1:
        name = pieces(f"of {months()[number - 1][0]}", _MONTH)
        return [*pieces(f"the {english_suffix(day)}", _DAY), *name]
    written = english_suffix(day) if draw < 0.28 else str(day)
    if draw > 0.92:
        return [piece(written, _DAY), piece(months()[number - 1][0], _MONTH)]
    return [*_month(rng, number), piece(written, _DAY)]


def _month(rng: Random, number: int) -> list[Word]:
    """The name of a month, one in ten abbreviated: `Mar.`, `Sept`."""
    name = months()[number - 1][0]
    draw = rng.random()
    if name in _FULL or draw > 0.12:
        return [piece(name, _MONTH)]
    short = name[: 4 if name == "September" else 3] + "." * (draw < 0.07)
    return pieces(short, _MONTH)


def _french_day(number: int, day: int) -> list[Word]:
    return [_french_number(day), piece(months()[number - 1][1], _MONTH)]


def _french_number(day: int) -> Word:
    return piece("1er" if day == 1 else str(day), _DAY)
