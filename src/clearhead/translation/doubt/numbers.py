"""Does every number of an English sentence arrive in the French one, in any form?

A number is compared by its value: 1,250.50 and 1 250,50; 14th, 14e and quatorzième; 12th, XIIe
and douzième; 3:30 pm, 15 h 30 and trois heures et demie; 60 and soixante.
"""

import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from functools import cache

from clearhead.data.grammar.lexicon import table
from clearhead.data.grammar.productions.values import (
    english_ordinal,
    english_words,
    french_ordinal,
    french_words,
    roman,
)

_SCALES = {"thousand": 1_000, "million": 10**6, "billion": 10**9}
_FRENCH_SCALES = ((10**9, "milliard"), (10**6, "million"), (1_000, "mille"), (100, "cent"))
# "one" is a pronoun more often than a number, "second" a time.
_NOT_COUNTED = {"one", "zero", "first", "second"}
_DIGIT, _SMALL_WORD = re.compile(r"\d"), re.compile("[a-z]+")
_RUN = re.compile(r"\d+(?:[.,' \u00a0\u202f’]\d+)*")
_CLOCK = r"(\d{1,2})(?:[:.](\d{2}))?"
_NOON = r"\s*[ap](?:m\b|\.m\.)"
# 3:30 pm, the 4 of "between 4 and 5 pm", 15:30
_TIME = re.compile(
    rf"(?<![\d.,:]){_CLOCK}(?:{_NOON}|(?=\s*(?:and|to|or|until|[-–])\s*{_CLOCK}{_NOON}))"
    r"|(?<![\d.,:])(\d{1,2}):(\d{2})(?![\d:])",
    re.IGNORECASE,
)
_DECADE = re.compile(r"(?<!\w)['’]?(\d{0,2}\d0)['’]?s\b")
_FRACTIONS = {
    ("1", "2"): "demi|demie|moitie",
    ("1", "3"): "tiers",
    ("2", "3"): "tiers",
    ("1", "4"): "quart",
    ("3", "4"): "quart",
}
_PARTS = re.compile(r"(?<![\w.,])\d+(?:[-–/:.]\d+)+(?![\w]|[.,]\d)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,' \u00a0\u202f’]\d{3})+")
# Words that hold a number: a dozen, half past, a quarter to.
_WORDS_OF = {
    1: "premier|premiere",
    2: "double|couple|paire|second|seconde",
    3: "triple|tiers|trimestre",
    4: "quart",
    6: "semestre",
    7: "semaine",
    10: "dizaine",
    12: "midi|minuit|douzaine",
    15: "quart|quinzaine",
    20: "vingtaine",
    30: "demi|demie|trentaine",
    45: "quart",
    50: "cinquantaine|moitie",
    100: "centaine",
    1000: "millier",
}


def folded(text: str) -> str:
    """Lower case without accents; punctuation and hyphens become single spaces."""
    letters = unicodedata.normalize("NFD", text.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(re.findall(r"\w+", plain))


def plain_numbers(text: str) -> str:
    """`folded`, and the words of numbers without agreement: une as un, cents as cent."""
    return re.sub(r"\b(un)e\b|\b(vingt|cent|million|milliard)s\b", r"\1\2", folded(text))


def french_numbers(number: int) -> list[str]:
    """The French words of a number below 10^12, without agreement; 1957 has two forms."""
    if number >= 10**12:
        return []
    forms = [_french(number)]
    if 1_100 <= number < 2_000:
        rest = number % 100
        forms.append(f"{_french(number // 100)} cent{f' {_french(rest)}' if rest else ''}")
    return forms


def _french(number: int) -> str:
    """Deux cent cinquante mille."""
    for scale, word in _FRENCH_SCALES:
        if number >= scale:
            count, rest = divmod(number, scale)
            parts = [_french(count)] if count > 1 or scale >= 10**6 else []
            return " ".join([*parts, word, *([_french(rest)] if rest else [])])
    return french_words(number)


def english_numbers(text: str) -> list[tuple[str, set[Decimal]]]:
    """The number words of a sentence with the values that they may have.

    `two hundred` is 200; `ten million` is ten million, or, as French may write it, 10 millions.
    """
    matches = _pattern().finditer(text)
    return [(m[0], _values(m[0])) for m in matches if m[0].lower() not in _NOT_COUNTED]


def _values(text: str) -> set[Decimal]:
    words = [word for word in re.split("[ -]", text.lower()) if word not in ("a", "and")]
    values = {_value(words)}
    if words[-1] in _SCALES and words[:-1]:
        values.add(_value(words[:-1]))
    return set(map(Decimal, values))


def _value(words: list[str]) -> int:
    total = part = 0
    for word in words:
        if word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
        else:
            part += _numbers()[word]
    return total + part


@cache
def _numbers() -> dict[str, int]:
    """Words of 0 to 19 and of the tens, ordinals too."""
    counted = [*range(20), *range(20, 100, 10)]
    return {english_words(n): n for n in counted} | {english_ordinal(n): n for n in counted}


@cache
def _number_words() -> frozenset[str]:
    """At least one of them is in every number in words."""
    return frozenset({*_numbers(), *_SCALES, "hundred"} - _NOT_COUNTED)


@cache
def _pattern() -> re.Pattern[str]:
    """`twenty-one`, `two hundred and fifty`, `three thousand`, `a million`, `fourth`."""
    ones, tens = _either(range(1, 10)), _either(range(20, 100, 10))
    low = _either(range(20))
    small = rf"(?:(?:{tens})(?:[ -](?:{ones}))?|{low})"
    hundreds = rf"(?:(?:(?:{small}|a) )?hundred(?: (?:and )?{small})?|{small})"
    scale = "(?:thousand|million|billion)"
    number = rf"(?:(?:{hundreds}|a) {scale}(?: (?:and )?{hundreds})?|{hundreds})"
    return re.compile(rf"\b{number}\b", re.IGNORECASE)


def _either(numbers: range) -> str:
    """A pattern of the words of these numbers; of two that begin equally, the longer first."""
    words = [word for word, number in _numbers().items() if number in numbers]
    return "|".join(sorted(words, key=len, reverse=True))


class FrenchNumbers:
    """The numbers of a translation, in digits, words and Roman numerals."""

    def __init__(self, translation: str) -> None:
        self.digits = set(re.findall(r"\d+", translation))
        self.values = {value for run in _RUN.findall(translation) for value in readings(run)}
        self.words = f" {plain_numbers(translation)} "
        self._romans = set(re.findall(r"\b([IVX]+)(?:e|er|re|ème)?\b", translation))

    def has(self, value: Decimal) -> bool:
        """Whether this value occurs."""
        if value in self.values:
            return True
        return value == value.to_integral_value() and self.has_words(int(value))

    def says(self, pattern: str) -> bool:
        """Whether one of these words occurs, also in the plural; accents are left out."""
        return re.search(rf" (?:{pattern})s? ", self.words) is not None

    def has_words(self, number: int) -> bool:
        """Whether this number occurs in words, as a month, or in Roman numerals."""
        words = [plain_numbers(form) for form in french_numbers(number)]
        if 1 < number < 100:
            words.append(folded(french_ordinal(number)))
        if 1 <= number <= 12:
            words.append(french_months()[number - 1])
        words += [_WORDS_OF[number]] if number in _WORDS_OF else []
        if words and self.says("|".join(words)):
            return True
        return 0 < number < 40 and roman(number) in self._romans


@cache
def french_months() -> list[str]:
    """Janvier to décembre, folded."""
    return [folded(french) for _, french in table("productions/months")]


def readings(run: str) -> set[Decimal]:
    """The values that a run of digits and separators may have in French or in English.

    A plain space may separate two numbers as well as the groups of one.
    """
    *groups, last = re.split(r"\D", run)
    values = set()
    if _is_whole(run):
        values.add(Decimal("".join([*groups, last])))
    if groups and run[-len(last) - 1] in ".," and _is_whole(run[: -len(last) - 1]):
        values.add(Decimal(f"{''.join(groups)}.{last}"))
    if " " in run or not values:
        values |= {Decimal(group) for group in (*groups, last)}
    return values


def _is_whole(text: str) -> bool:
    return text.isdigit() or _THOUSANDS.fullmatch(text) is not None


Check = Callable[[re.Match[str], FrenchNumbers], bool]


def missing_numbers(source: str, translation: str) -> list[str]:
    """The numbers of the source, in digits or words, that the translation does not hold."""
    if not _DIGIT.search(source) and _number_words().isdisjoint(
        _SMALL_WORD.findall(source.lower())
    ):
        return []  # most sentences
    target = FrenchNumbers(translation)
    missing = []
    for pattern, arrives in _CHECKS:
        missing += [m[0].strip() for m in pattern.finditer(source) if not arrives(m, target)]
        source = pattern.sub(lambda match: " " * len(match[0]), source)
    words = english_numbers(source)
    return missing + [text for text, values in words if not any(map(target.has, values))]


def _time(match: re.Match[str], target: FrenchNumbers) -> bool:
    """3:30 pm, in French, may be 15 h 30, 3 h 30 de l'après-midi or trois heures et demie."""
    minute = int(match[2] or match[6] or 0)
    hours = _hours(int(match[1] or match[5]), match[0].lower(), target)
    minutes = {minute}
    if target.says("moins"):
        hours |= {(h + 1) % 24 for h in hours}
        minutes |= {60 - minute}
    if target.says(r"\d+ ?[ap]m"):
        return False  # as English writes it
    return any(target.has(Decimal(h)) for h in hours) and (
        minute == 0 or any(target.has(Decimal(m)) for m in minutes)
    )


def _hours(hour: int, time: str, target: FrenchNumbers) -> set[int]:
    """The hours that may stand for this one; in words they are those of the clock."""
    if "m" not in time:  # of "between 4 and 5 pm" the first may be in either half of the day
        return {hour, (hour + 12) % 24} if ":" not in time else {hour}
    half = 12 if "p" in time else 0
    named = target.says("apres midi|soir|nuit|midi") if half else target.says("matin|nuit|minuit")
    return {hour % 12 + half} | ({hour} if named or target.has_words(hour) else set())


def _decade(match: re.Match[str], target: FrenchNumbers) -> bool:
    year = int(match[1])
    return any(target.has(Decimal(value)) for value in {year, year % 100, 1900 + year % 100})


def _parts(match: re.Match[str], target: FrenchNumbers) -> bool:
    """A date, score, phone number or version: part by part, or a fraction."""
    numbers = tuple(re.findall(r"\d+", match[0]))
    if numbers in _FRACTIONS and target.says(_FRACTIONS[numbers]):
        return True
    if "." in match[0] and len(numbers) == 2:
        return _number(match, target)
    return all(target.has(Decimal(number)) for number in numbers)


def _number(match: re.Match[str], target: FrenchNumbers) -> bool:
    if re.fullmatch(r"0\d+", match[0]):
        return match[0] in target.digits  # of a telephone number or a code
    values = readings(match[0])
    if any(map(target.has, values)):
        return True
    parts = re.split(r"\D", match[0])  # 18 dollars 50
    return len(parts) > 1 and len(parts[-1]) == 2 and all(target.has(Decimal(p)) for p in parts)


_CHECKS: tuple[tuple[re.Pattern[str], Check], ...] = (
    (_TIME, _time),
    (_DECADE, _decade),
    (_PARTS, _parts),
    (_NUMBER, _number),
)
