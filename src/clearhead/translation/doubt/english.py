"""Is a sentence English? Decided by its letters and by function words of seven languages.

A few short words carry most of every text (the, of, is; le, de, est). A sentence is taken for
another language if it holds more function words of one other language than of English. Names
and rare words carry no evidence, so a short English phrase without any function word passes.
"""

import re
from functools import cache
from importlib.resources import files

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_FOREIGN_LETTER = re.compile(r"[à-öø-ÿœßąćęłńśźżčďěňřšťžőűğış]")
_BORROWED = {"café", "cafés", "résumé", "naïve", "fiancé", "fiancée", "cliché", "façade"}
_VOWELS = re.compile("[aeiouyàâäéèêëîïôöùûüáíóú]")

NO_WORDS, NOT_ENGLISH = "no words", "not English?"


def doubt_of_language(source: str) -> str:
    """A message if the source has no words or is hardly English, else an empty string."""
    words = [word.replace("’", "'") for word in _WORD.findall(source)]
    if not words:
        return "" if re.search(r"\d", source) else NO_WORDS
    letters = "".join(words)
    if len(_LATIN.findall(letters)) < len(letters) / 2:
        return NOT_ENGLISH
    return NOT_ENGLISH if _is_noise(words) or _is_foreign(words) else ""


def is_function_word(word: str) -> bool:
    """Whether this is one of the most frequent English words."""
    return word.casefold() in _words("function")["en"]


def is_common(word: str) -> bool:
    """Whether English writes this word in small letters; the word is given so."""
    return word in _words("common")["en"] or word in _words("common")["both"]


def untranslated(source: str, translation: str) -> list[str]:
    """The common English words that the translation still holds, though French has no such word.

    Words with a capital may belong to a name.
    """
    kept = set(_WORD.findall(translation)) & _words("common")["en"]
    return [word for word in dict.fromkeys(_WORD.findall(source)) if word in kept]


def _is_foreign(words: list[str]) -> bool:
    """Whether words of one other language alone outnumber those of English alone.

    A foreign letter counts as half a word; capitalized words may be names, whose letters say
    nothing about the language.
    """
    marked = [w for w in words if w[0].islower() and _FOREIGN_LETTER.search(w)]
    letters = 0.5 * sum(word not in _BORROWED for word in marked)
    found = _words("function")
    return any(
        letters + _count(_candidates(words, name), found[name] - found["en"])
        > _count(words, found["en"] - (found[name] if len(words) > 1 else set()))
        for name in found
        if name != "en"
    )


def _count(words: list[str], known: frozenset[str]) -> int:
    """How many are among them, as a whole or up to the apostrophe: l'heure."""
    folded = map(str.casefold, words)
    return sum(word in known or word[: word.find("'") + 1] in known for word in folded)


def _candidates(words: list[str], language: str) -> list[str]:
    """Without single letters, abbreviations and the first word of a name such as Los Angeles.

    German writes nouns with a capital, so that there the word may be an article.
    """
    german = language == "de"
    pairs = zip(words, [*words[1:], "x"], strict=True)
    kept = [a for a, b in pairs if german or not (a[0].isupper() and b[0].isupper())]
    return [word for word in kept if len(word) > 1 and not word.isupper()] or words[:1]


def _is_noise(words: list[str]) -> bool:
    """Keys hit at random: most of the longer words have no vowel, or six consonants in a row."""
    longer = [word.casefold() for word in words if len(word) > 4 and not word.isupper()]
    noise = [w for w in longer if not _VOWELS.search(w) or re.search("[b-df-hj-np-tv-xz]{6}", w)]
    return len(noise) * 2 > len(longer)


@cache
def _words(name: str) -> dict[str, frozenset[str]]:
    """The words of each language in a table; `both` are English and French."""
    text = files(__package__).joinpath(f"{name}_words.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return {language: frozenset(words.split()) for language, words in rows}
