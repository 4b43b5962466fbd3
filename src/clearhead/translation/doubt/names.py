"""Does every name of an English sentence arrive in the French one?

A name is a word with a capital inside a sentence. It has arrived if the translation holds it,
or a close variant of it: other accents, a French ending (Vienna, Vienne), no plural s. Countries,
peoples and some cities have to arrive under their French names (`exonyms`); other words that
French writes in another way (Monday, Mr.) are in a table, and are not checked.
"""

import re
from functools import cache
from importlib.resources import files

from clearhead.translation.doubt.dates import missing_dates
from clearhead.translation.doubt.english import is_common, is_function_word
from clearhead.translation.doubt.exonyms import missing_exonyms
from clearhead.translation.doubt.numbers import folded

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
# Behind one of these a capital may only mean that a sentence begins.
_OPENING = re.compile(
    r"(?:^(?:\W*\w{1,3}[.):])?|[.!?…:;|>]|[\"“‘«(\[*_~•–—→+#-])[\"“‘«(\[\s*_~•–—→+#|>\])-]*$"
)
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Mx|Dr|Prof|St|Mt|Gen|Capt|Sgt|[A-Z])\.\s*$")
_POSSESSIVE = re.compile(r"['’]s?$")
_INITIALS = re.compile(r"(?<![\w.])(?P<letters>(?:[A-Z]\. ?)+)(?P<name>[A-Z]\w+)")
# Vitamin C, the bases A and T; neither the article nor U.S., 5K, Q&A or °C.
_LETTER = re.compile(
    r"(?<![^\s(\"“‘])(?:[B-HJ-Z](?=[\s),;:!?\"”’]|\.?$|\. )|A(?=[),;:!?\"”’]| (?:and|or)\b|\.?$))"
)
_NO_INITIALS = frozenset({"US", "USA", "UK", "UN", "EU", "DC", "AM", "PM", "BC", "AD", "PS"})
_SMALL = (
    *("a", "an", "and", "are", "as", "at", "but", "by", "for", "from", "has", "have", "how", "in"),
    *("is", "it", "not", "of", "on", "or", "our", "that", "the", "this", "to", "was", "we"),
    *("what", "when", "where", "why", "will", "with", "you", "your"),
)
_SHORTEST = 3  # letters; of shorter names every letter is compared


def missing_names(source: str, translation: str) -> list[str]:
    """The names of the source that the translation does not hold."""
    words = _WORD.findall(source)
    plain = all(word.islower() or is_function_word(word) for word in words)
    if plain and not re.search(r"\d", source):
        return []  # most sentences
    if source.isupper() or _is_heading(words):
        return []
    initials, source = _missing_initials(source, translation)
    dates, source = missing_dates(source, translation)
    exonyms, source = missing_exonyms(source, translation)
    missing = [*initials, *dates, *exonyms]
    missing += [name for name in _names(source) if not _arrives(name, translation)]
    return list(dict.fromkeys(missing))


def _missing_initials(source: str, translation: str) -> tuple[list[str], str]:
    """Names with initials of which one is missing, and the source with spaces in their place.

    They are missing as a whole: only Tom can stand for J. K. Rowling.
    """
    held = set(_WORD.findall(translation))
    missing = [
        match[0]
        for match in _INITIALS.finditer(source)
        if match["letters"].replace(".", "").replace(" ", "") not in _NO_INITIALS
        and not is_function_word(match["name"])
        and not held.issuperset(re.findall("[A-Z]", match["letters"]))
    ]
    for name in missing:
        source = source.replace(name, " " * len(name))
    return missing, source


def _is_heading(words: list[str]) -> bool:
    """Whether ordinary words have capitals, too: The Cell and Its Membrane."""
    capitals = [word for word in words[1:] if word[0].isupper()]
    small = [word for word in words[1:] if word[0].islower()]
    if any(word.casefold() in _SMALL for word in capitals if len(word) > 1):
        return True
    return len(capitals) > 2 and all(word in _SMALL for word in small)


def _names(source: str) -> list[str]:
    """The capitalized words inside the sentence that French does not write in its own way.

    A common word is a name only beside a word that is not common: Emma Stone, no Privacy Policy.
    """
    found = [match for match in _WORD.finditer(source) if _has_capital(source, match)]
    rare = [match for match in found if not _is_common(match[0])]
    beside = {match.end() + 1 for match in rare} | {match.start() - 1 for match in rare}
    return [
        _POSSESSIVE.sub("", match[0])
        for match in found
        if match in rare or not beside.isdisjoint(match.span())
    ]


def _is_common(word: str) -> bool:
    return word[1:].islower() and is_common(word.casefold())


def _has_capital(source: str, match: re.Match[str]) -> bool:
    """Whether a word has a capital that neither a sentence nor English alone gives it."""
    word, before = _POSSESSIVE.sub("", match[0]), source[: match.start()]
    if len(word) == 1:
        return _LETTER.match(source, match.start()) is not None
    inside = bool(_TITLE.search(before)) or not _OPENING.search(before)
    marked = (inside and word[0].isupper()) or not word[1:].islower()
    return marked and not _is_translated(word)


def _is_translated(word: str) -> bool:
    plain = word.replace("’", "'")
    if plain in _translated() or is_function_word(plain):
        return True
    parts = re.split("['-]", plain)
    return all(p in _translated() or len(p) == 1 for p in parts)


def _arrives(name: str, translation: str) -> bool:
    words = [word for match in _WORD.findall(translation) for word in re.split("['’-]", match)]
    if len(name) == 1:
        return name in words  # "a" is also a verb
    parts = [part for part in re.split("['’-]", name) if part not in _translated()]
    if _spells(folded(translation).split(), folded(name).replace(" ", "")):
        return True  # also where it is hyphenated or spaced in another way
    return all(any(_is_variant(part, word) for word in words) for part in parts)


def _spells(words: list[str], name: str) -> bool:
    """Whether some of the words, one after the other, make the name."""
    for start, first in enumerate(words):
        made, rest = first, iter(words[start + 1 :])
        while len(made) < len(name) and name.startswith(made):
            made += next(rest, name)
        if made == name:
            return True
    return False


def _is_variant(name: str, word: str) -> bool:
    """`Vienna` and `Vienne`, `Italy` and `Italie`, `NATO` and `OTAN`."""
    if name.removesuffix("s").isupper() and word.isupper():
        return sorted(name.removesuffix("s")) == sorted(word)
    return _stem(name) == _stem(word)


def _stem(word: str) -> str:
    plain = folded(word)
    stem = re.sub(r"[aeiouy]*s?$", "", plain)
    return stem if len(stem) >= _SHORTEST else plain


@cache
def _translated() -> frozenset[str]:
    """Capitalized words that French writes in its own way, from `translated_words.txt`."""
    text = files(__package__).joinpath("translated_words.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return frozenset(word for line in lines for word in line.split())
