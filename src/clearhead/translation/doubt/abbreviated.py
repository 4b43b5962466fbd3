"""What only English abbreviates so: 02/21/1941 (the month first), $96.2B, CA$50.

French has 21/02/1941, 96,2 milliards de dollars and 50 dollars canadiens. `written_out` is the
longer English form, which a model translates more reliably.
"""

import re
from collections.abc import Callable
from decimal import Decimal

from clearhead.translation.doubt.dates import months
from clearhead.translation.doubt.numbers import FrenchNumbers, french_months

_NUMBER = r"\d+(?:[.,]\d+)*"
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


_CHECKS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], FrenchNumbers], bool]], ...] = (
    (_DATE, _date),
    (_SCALED, _scaled),
    (_DOLLARS, _dollars),
)


def written_out(text: str) -> str:
    """February 21, 1941; $96.2 billion; 50 Canadian dollars. Of any other text nothing."""
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
