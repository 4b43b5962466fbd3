"""Times of day, spans between two times, and durations."""

from random import Random

from ..bitext import Word
from .values import (
    GLUED,
    Filling,
    after_no_break,
    english_words,
    joined,
    one_to_one,
    piece,
    pieces,
    shifted,
    written,
)

_HOUR, _MARK, _MINUTE = 0, 1, 2
_SECOND_TIME, _AND, _FROM = 10, 20, 21  # links of a span
_OFFSETS = (
    ("half past", "et demie"), ("a quarter past", "et quart"), ("a quarter to", "moins le quart"),
    ("quarter past", "et quart"), ("quarter to", "moins le quart"),
    ("five past", "cinq"), ("ten past", "dix"), ("twenty past", "vingt"),
    ("twenty-five past", "vingt-cinq"), ("five to", "moins cinq"), ("ten to", "moins dix"),
    ("twenty to", "moins vingt"), ("twenty-five to", "moins vingt-cinq"),
)  # fmt: skip
_PARTS_OF_DAY = (
    (1, 11, "in the morning", "du matin"),
    (1, 6, "in the afternoon", "de l'après-midi"),
    (6, 10, "in the evening", "du soir"),
    (9, 11, "at night", "du soir"),
)
_SHARP_MINUTES = (15, 30, 45)


def time(rng: Random) -> Filling:
    """A time in one of the forms that people type; French has 24 hours and the letter h."""
    draw = rng.random()
    if draw < 0.06:
        return one_to_one(*rng.choice((("noon", "midi"), ("midnight", "minuit"))), "time")
    if draw < 0.26:
        return _spoken(rng)
    if draw < 0.32:
        return _in_part_of_day(rng)
    return _twenty_four(rng) if draw < 0.46 else _twelve(rng)


def _twelve(rng: Random) -> Filling:
    """`3:30 pm`, `3.30 PM`, `3:30pm`: 15 h 30; `9 am`, `9am` and `9:00 am`: 9 h."""
    hour, minute = rng.randint(1, 12), rng.choice((0, 0, 0, *_SHARP_MINUTES, rng.randrange(60)))
    after_noon = rng.random() < 0.6
    mark = rng.choice(("pm", "pm", "p.m.", "PM") if after_noon else ("am", "am", "a.m.", "AM"))
    shown = minute or rng.random() < 0.25
    point = "." if minute and rng.random() < 0.12 else ":"
    english = [piece(str(hour), _HOUR), *(_minutes(minute, point) if shown else [])]
    behind = pieces(mark, _HOUR, _MARK)
    together = "." not in mark and rng.random() < 0.25
    english = joined(english, behind) if together else [*english, *behind]
    return _filling(english, hour % 12 + 12 * after_noon, minute)


def _twenty_four(rng: Random) -> Filling:
    """`15:30`: 15 h 30; `09:05`: 9 h 05."""
    hour, minute = rng.randint(0, 23), rng.choice((0, *_SHARP_MINUTES, rng.randrange(60)))
    shown = f"{hour:02d}" if rng.random() < 0.3 else str(hour)
    return _filling([piece(shown, _HOUR), *_minutes(minute)], hour, minute)


def _minutes(minute: int, point: str = ":") -> list[Word]:
    """The colon and the minutes; French does not write :00."""
    link = _MINUTE if minute else _MARK
    return [piece(point, _MARK, space=GLUED), piece(f"{minute:02d}", link, space=GLUED)]


def _filling(english: list[Word], hour: int, minute: int) -> Filling:
    values = (f"time:{hour}:{minute}",) if minute % 15 else ()
    return Filling(english, _french(hour, minute), "time", values)


def _french(hour: int, minute: int) -> list[Word]:
    french = [piece(str(hour), _HOUR), *after_no_break([piece("h", _MARK)])]
    return french + (after_no_break([piece(f"{minute:02d}", _MINUTE)]) if minute else [])


def _hours(number: int, link: int, spelled: bool = True) -> list[Word]:
    """`trois heures`, `une heure`; the link is that of the word *heures*."""
    shown = "une" if spelled and number == 1 else written(number, spelled)[1]
    return [piece(shown, _HOUR), piece("heure" if number == 1 else "heures", link)]


def _spoken(rng: Random) -> Filling:
    """`half past three`: trois heures et demie; `ten to two`: deux heures moins dix."""
    hour, form = rng.randint(1, 11), rng.random()
    name = piece(english_words(hour), _HOUR)
    if form < 0.25:
        name = piece(written(hour, form < 0.18)[0], _HOUR)
        french = _hours(hour, _MARK, spelled=form < 0.18)
        return Filling((name, *pieces("o'clock", _MARK)), french, "time")
    if form < 0.4:
        minute = rng.choice((10, 15, 20, 30, 40, 45, 50))
        minutes = [piece(text, _MINUTE) for text in written(minute, spelled=True)]
        return Filling((name, minutes[0]), (*_hours(hour, _HOUR), minutes[1]), "time")
    common = rng.random() < 0.6
    english, offset = rng.choice(_OFFSETS[:3] if common else _OFFSETS)
    french = [*_hours(hour, _HOUR), *pieces(offset, _MINUTE)]
    return Filling((*pieces(english, _MINUTE), name), french, "time")


def _in_part_of_day(rng: Random) -> Filling:
    """`three in the morning`: trois heures du matin; `8 in the evening`: 8 heures du soir."""
    least, most, english, french = rng.choice(_PARTS_OF_DAY)
    hour, spelled = rng.randint(least, most), rng.random() < 0.5
    clock = pieces("o'clock", _MARK) if spelled and rng.random() < 0.4 else []
    name = piece(written(hour, spelled)[0], _HOUR)
    hours = _hours(hour, _MARK if clock else _HOUR, spelled=spelled)
    sides = (name, *clock, *pieces(english, _MINUTE)), (*hours, *pieces(french, _MINUTE))
    return Filling(*sides, "time")


def time_span(rng: Random) -> Filling:
    """`from 9 am to 5 pm`: de 9 h à 17 h; `between 2 and 4 pm`: entre 14 h et 16 h."""
    from_, to = sorted(rng.sample(range(6, 22), 2))
    between = rng.random() < 0.3
    start, middle = ("between", "and") if between else ("from", "to")
    french_start, french_middle = ("entre", "et") if between else ("de", "à")
    same_half = (from_ < 12) == (to < 12)
    first = [piece(str((from_ - 1) % 12 + 1), _HOUR)]
    if not same_half or rng.random() < 0.3:
        first = [*first, piece("am" if from_ < 12 else "pm", _HOUR, _MARK)]
    second = [piece(str((to - 1) % 12 + 1), _HOUR), piece("am" if to < 12 else "pm", _HOUR, _MARK)]
    if len(first) == 1:  # from 9 to 11 am: one mark for both
        second[1] = second[1]._replace(links=second[1].links | piece("", _MARK - 10).links)
    english = [piece(start, _FROM), *first, piece(middle, _AND), *shifted(second, _SECOND_TIME)]
    last = shifted(_french(to, 0), _SECOND_TIME)
    french = [piece(french_start, _FROM), *_french(from_, 0), piece(french_middle, _AND), *last]
    return Filling(english, french, "time")
