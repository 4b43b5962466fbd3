"""Variants of training pairs with other names and numbers, which teach a model to copy.

A corpus contains few names, and those often: Tom is in every twelfth pair of Tatoeba. A model
trained on it alone replaces an unknown name by a similar known one. A name or number that is the
same on both sides of a pair can be replaced by any other: *Tom lives at 42 Boston Street* remains
a correct pair with *Vekora* and *73*, or with *Москва*, whose letters a tokenizer may know only as
bytes.
"""

import re
from collections.abc import Callable
from random import Random
from string import ascii_uppercase

from clearhead.data.pairs import Pair

# A name, an abbreviation, or a number of two or more digits: "1 year" and "2 years" differ in more
# than the digit.
_COPIED = re.compile(r"\b(?:[A-Z][a-z]{2,}|[A-Z]{2,}|[1-9]\d+)\b")
ELIDING = "AEIOUHY"  # first letters of names before which French elides: d'Anna
# The parts of syllables in names of many languages (Ljubljana, Siemens, Zhang); simple parts occur
# more often.
_SIMPLE, _OPEN = "bcdfghjklmnprstvwxyz", "aeiou"
_CLUSTERS = (
    *("bl", "br", "ch", "cl", "dr", "fl", "gr", "kh", "kl", "kr", "lj", "ph", "pl", "pr", "qu"),
    *("sch", "sh", "sk", "sm", "sn", "st", "str", "sz", "th", "tr", "vl", "zh"),
)
_ONSETS = [*_SIMPLE * 3, *_CLUSTERS]
_FIRST = [onset for onset in _ONSETS if onset[0] not in "hy"]  # d'Hugo and de Hugo both occur
_VOWELS = [*_OPEN * 8, "y", "ai", "au", "ea", "ee", "ei", "ia", "ie", "io", "oo", "ou", "ue"]
_FIRST_VOWELS = [vowel for vowel in _VOWELS if vowel != "y"]  # d'Yves, de Yasmine
_ENDS = ("ck", "d", "l", "ll", "m", "n", "nd", "ng", "nn", "r", "rd", "rk", "rt", "s", "ss", "st")
_CODAS = [*[""] * 24, *_ENDS, "t", "tz", "x", "z"]
_ACCENTED = {
    "a": "áàâäãåą", "e": "éèêëęě", "i": "íîïı", "o": "óôöõøő", "u": "úùûüů", "c": "çćč",
    "l": "ł", "n": "ñń", "r": "ř", "s": "śšş", "y": "ý", "z": "żž",
}  # fmt: skip
_ACCENT, _HYPHEN, _FOREIGN = 0.12, 0.04, 0.03  # the probability of each in a name
# The first and last letter of Greek, Cyrillic, Hebrew, Arabic, Devanagari, kana, Han, Hangul.
_SCRIPTS = ("αω", "ая", "את", "بي", "अह", "あん", "一龠", "가힣")


def copied(pair: Pair) -> set[str]:
    """The names and numbers that both sides contain."""
    source, target = (set(_COPIED.findall(side)) for side in pair)
    return source & target


def synthetic_name(random: Random, vowel: bool) -> str:
    """Two or three syllables, the first without an onset if the name begins with a vowel.

    Sometimes a letter has a diacritic (Ståhl, Núñez), or another name follows a hyphen.
    """
    draw = random.choice
    first = draw(_FIRST_VOWELS) if vowel else draw(_FIRST) + draw(_VOWELS)
    others = [draw(_ONSETS) + draw(_VOWELS) for _ in range(draw((1, 1, 2)))]
    name = "".join(syllable + draw(_CODAS) for syllable in (first, *others)).capitalize()
    if random.random() < _ACCENT:
        name = _with_accent(random, name)
    if random.random() < _HYPHEN:
        name += "-" + synthetic_name(random, random.random() < 0.2)
    return name


def foreign_word(random: Random) -> str:
    """Two to five letters of another script."""
    first, last = map(ord, random.choice(_SCRIPTS))
    return "".join(chr(random.randint(first, last)) for _ in range(random.randint(2, 5)))


def _with_accent(random: Random, name: str) -> str:
    """Put a diacritic on one letter after the first, if one of them can have it."""
    able = [i for i in range(1, len(name)) if name[i] in _ACCENTED]
    if not able:
        return name
    index = random.choice(able)
    return name[:index] + random.choice(_ACCENTED[name[index]]) + name[index + 1 :]


Namer = Callable[[Random, bool], str]


class SyntheticNames:
    """Replaces the names and numbers of pairs, with probability `rate` for each pair.

    The same seed changes the same pairs in the same way. `name` generates a name that begins with
    a vowel (True) or with a consonant (False).
    """

    def __init__(self, rate: float, seed: int = 0, name: Namer = synthetic_name) -> None:
        self.rate, self._random, self._name = rate, Random(seed), name

    def __call__(self, pair: Pair) -> Pair:
        """The pair, with another of its kind for each name and number that both sides contain."""
        if self._random.random() >= self.rate:
            return pair
        new = {word: self._another(word, pair.target) for word in sorted(copied(pair))}
        return Pair(*(_COPIED.sub(lambda w: new.get(w[0], w[0]), side) for side in pair))

    def _another(self, word: str, target: str) -> str:
        """A new word that begins with a vowel if `word` does: *de Tom*, but *d'Anna*.

        Of names with H and Y, the French side shows whether they do: *d'Hélène*, *de Hugo*.
        """
        size, vowel = len(word), word[0] in ELIDING
        if word[0] in "HY":
            vowel = re.search(rf"['’]{word}\b", target) is not None
        if word.isdecimal():
            return str(self._random.randint(10 ** (size - 1), 10**size - 1))
        if word.isupper():
            first = self._random.choice("AEIOU" if vowel else "BCDFGKLMNPRSTVZ")
            return first + "".join(self._random.choices(ascii_uppercase, k=size - 1))
        if not vowel and self._random.random() < _FOREIGN:
            return foreign_word(self._random)
        return self._name(self._random, vowel)
