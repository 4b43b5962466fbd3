"""Months, days of the week, and abbreviated dates and amounts.

*March 2019* arrives as *mars 2019*, *on Sundays* as *le dimanche*.

March, May and August are also other words, so a month counts where a number or a word such as
`since` is beside it. A date that the translation writes in digits (14/3/2019) needs no month.

`missing_abbreviations` looks for what only English abbreviates so: 02/21/1941 (the month first),
$96.2B, CA$50. French has 21/02/1941, 96,2 milliards de dollars and 50 dollars canadiens.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache

from clearhead.data.grammar.lexicon import table
from clearhead.translation.doubt.numbers import Check, FrenchNumbers, folded, french_months

_BEFORE = r"\d|\d(?:st|nd|rd|th)(?: of)?|\b(?:in|since|until|last|next|early|late)"
_DIGITS = re.compile(r"\d[/.-]\d")
_VOWEL = re.compile("[aoAO]")  # d'avril, de mars
STAND_INS = 3


@cache
def months() -> dict[str, str]:
    """January: janvier, and so on."""
    return dict(table("productions/months"))


@cache
def weekdays() -> dict[str, str]:
    """Monday: lundi, and so on."""
    return dict(table("productions/weekdays"))


@cache
def abbreviations() -> dict[str, str]:
    """Jan: January, and so on; May is not one."""
    return {**{name[:3]: name for name in months() if name != "May"}, "Sept": "September"}


@cache
def _pattern() -> re.Pattern[str]:
    names, short, days = ("|".join(words()) for words in (months, abbreviations, weekdays))
    return re.compile(
        rf"\b(?P<short>(?:{short})\b\.?)(?= \d)|(?:{_BEFORE}) (?P<late>{names})\b"
        rf"|\b(?P<early>{names})(?=,? \d)|\b(?P<day>(?:{days})s?)\b"
    )


def missing_dates(source: str, translation: str) -> tuple[list[str], str]:
    """The months and days that did not arrive, and the source with spaces for all of them."""
    words = f" {folded(translation)} "
    in_digits = _DIGITS.search(translation) is not None
    missing = [
        word
        for match in _pattern().finditer(source)
        if not _arrives(word := match[match.lastgroup or 0], words, in_digits)
    ]
    return missing, _pattern().sub(lambda match: " " * len(match[0]), source)


def _arrives(word: str, words: str, in_digits: bool) -> bool:
    name = abbreviations().get(word.rstrip("."), word)
    if name in months():
        return in_digits or f" {folded(months()[name])} " in words
    day = name.removesuffix("s")
    forms = weekdays()[day], f"{weekdays()[day]}s", day.casefold()  # Black Friday stays
    return any(f" {form} " in words for form in forms)


def date_stand_ins(word: str) -> tuple[str, ...]:
    """Other months or days before which French elides the same words; of other words nothing."""
    for names in (months(), weekdays()):
        if word in names:
            alike = [n for n in names if bool(_VOWEL.match(n)) == bool(_VOWEL.match(word))]
            return tuple(name for name in alike if name != word)[:STAND_INS]
    return ()


def date_swaps(stand_in: str, original: str) -> Iterator[tuple[str, str]]:
    """The stand-in and the original in French, also with a capital."""
    names = months() if original in months() else weekdays()
    yield names[stand_in], names[original]
    yield names[stand_in].capitalize(), names[original].capitalize()


_NUMBER = r"\d+(?:,\d+)*(?:\.\d+)?"
# A number above 12 cannot be the month; 03/04/1987 could be March or April.
_DATE = re.compile(r"(?<![\d/])(0?[1-9]|1[0-2])/(1[3-9]|2\d|3[01])/(\d{4})(?![\d/])")
_SCALED = re.compile(rf"([$€£])({_NUMBER}) ?([KMB]|bn)\b")
_DOLLARS = re.compile(rf"\b(CA|C|AU|A|US)\$ ?({_NUMBER})")
_SCALES = {"M": ("million", "million"), "B": ("billion", "milliard"), "bn": ("billion", "milliard")}
_OF = {
    "C": ("Canadian", "canadien|cad"),
    "A": ("Australian", "australien|aud"),
    "U": ("American", "americain|us|usd|etats unis"),
}


def missing_abbreviations(source: str, translation: str) -> tuple[list[str], str]:
    """Those that did not arrive in a French form, and the source with spaces in their place."""
    target = FrenchNumbers(translation)
    found = [
        match[0]
        for pattern, arrives in _CHECKS
        for match in pattern.finditer(source)
        if not arrives(match, target)
    ]
    for text in found:
        source = source.replace(text, " " * len(text))
    return found, source


def _date(match: re.Match[str], target: FrenchNumbers) -> bool:
    month, day, year = match.groups()
    return target.says(f"{day} (?:0?{int(month)}|{french_months()[int(month) - 1]}) {year}")


def _scaled(match: re.Match[str], target: FrenchNumbers) -> bool:
    if match[3] == "K":
        return target.has(_thousands(match[2]))
    return target.says(_SCALES[match[3]][1])


def _dollars(match: re.Match[str], target: FrenchNumbers) -> bool:
    return target.says(_OF[match[1][0]][1])


def _thousands(number: str) -> Decimal:
    return Decimal(number.replace(",", "")) * 1_000


_CHECKS: tuple[tuple[re.Pattern[str], Check], ...] = (
    (_DATE, _date),
    (_SCALED, _scaled),
    (_DOLLARS, _dollars),
)


def written_out(text: str) -> str:
    """February 21, 1941; $96.2 billion; 50 Canadian dollars. Of any other text nothing.

    A model translates the longer form more reliably.
    """
    if date := _DATE.fullmatch(text):
        return f"{list(months())[int(date[1]) - 1]} {int(date[2])}, {date[3]}"
    if scaled := _SCALED.fullmatch(text):
        sign, number, scale = scaled.groups()
        if scale == "K":
            return f"{sign}{_thousands(number).normalize():,f}"
        return f"{sign}{number} {_SCALES[scale][0]}"
    if dollars := _DOLLARS.fullmatch(text):
        return f"{dollars[2]} {_OF[dollars[1][0]][0]} dollars"
    return ""
