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
    if _is_noise(words) or _foreign_words(words) > _english_words(words):
        return NOT_ENGLISH
    return ""


def is_function_word(word: str) -> bool:
    """Whether this is one of the most frequent English words."""
    return word.casefold() in _function_words()["en"]


def _english_words(words: list[str]) -> int:
    return sum(is_function_word(word) for word in words)


def _foreign_words(words: list[str]) -> float:
    """The most function words of one other language; a foreign letter counts as half a word."""
    most = max(
        sum(word in own or word[: word.find("'") + 1] in own for word in _candidates(words, name))
        for name, own in _function_words().items()
        if name != "en"
    )
    # Capitalized words may be names, whose letters say nothing about the language.
    marked = [w for w in words if w[0].islower() and _FOREIGN_LETTER.search(w)]
    return most + 0.5 * sum(word not in _BORROWED for word in marked)


def _candidates(words: list[str], language: str) -> list[str]:
    """Small letters; without the first word of a name such as Los Angeles or El Greco.

    German writes nouns with a capital, so that there the word may be an article.
    """
    german = language == "de"
    pairs = zip(words, [*words[1:], "x"], strict=True)
    return [a.casefold() for a, b in pairs if german or not (a[0].isupper() and b[0].isupper())]


def _is_noise(words: list[str]) -> bool:
    """Keys hit at random: most of the longer words have no vowel, or six consonants in a row."""
    longer = [word.casefold() for word in words if len(word) > 3 and not word.isupper()]
    noise = [w for w in longer if not _VOWELS.search(w) or re.search("[b-df-hj-np-tv-xz]{6}", w)]
    return len(noise) * 2 > len(longer)


@cache
def _function_words() -> dict[str, frozenset[str]]:
    """The words of each language; a word that is English, too, is no evidence against it."""
    text = files(__package__).joinpath("function_words.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    found = {language: frozenset(words.split()) for language, words in rows}
    english = found["en"]
    return {name: words if name == "en" else words - english for name, words in found.items()}
