"""Months and days of the week: *March 2019* arrives as *mars 2019*, *on Sundays* as *le dimanche*.

March, May and August are also other words, so a month counts where a number or a word such as
`since` is beside it. A date that the translation writes in digits (14/3/2019) needs no month.
"""

import re
from collections.abc import Iterator
from functools import cache

from clearhead.data.grammar.lexicon import table
from clearhead.translation.doubt.numbers import folded

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
