"""Names and numbers that nobody has seen, so that a model learns to copy what it does not know.

A corpus holds few names and those often, Tom in every twelfth pair of Tatoeba. Who learned from
nothing else writes one of them for a name that is new, or something like it. But what stands
unchanged on both sides of a pair could be any other: *Tom lives in 42 Boston Street* is as true
of *Vekora* and *73*.
"""

import re
from collections.abc import Callable
from random import Random
from string import ascii_uppercase

from clearhead.data.pairs import Pair

# A name, an abbreviation, or a number that is no small one: "1 year" and "2 years" differ in
# more than the digit.
_COPIED = re.compile(r"\b(?:[A-Z][a-z]{2,}|[A-Z]{2,}|[1-9]\d+)\b")
ELIDING = "AEIOUHY"  # what a name may begin with that French says d' before
# Names come from everywhere (Ljubljana, Siemens, Zhang): what their syllables are made of, the
# simple parts more often.
_SIMPLE, _OPEN = "bcdfghjklmnprstvwxyz", "aeiou"
_CLUSTERS = (
    *("bl", "br", "ch", "cl", "dr", "fl", "gr", "kh", "kl", "kr", "lj", "ph", "pl", "pr", "qu"),
    *("sch", "sh", "sk", "sm", "sn", "st", "str", "sz", "th", "tr", "vl", "zh"),
)
_ONSETS = [*_SIMPLE * 3, *_CLUSTERS]
_FIRST = [onset for onset in _ONSETS if onset[0] not in "hy"]  # some say d'Hugo, some de Hugo
_VOWELS = [*_OPEN * 8, "y", "ai", "au", "ea", "ee", "ei", "ia", "ie", "io", "oo", "ou", "ue"]
_FIRST_VOWELS = [vowel for vowel in _VOWELS if vowel != "y"]  # d'Yves, de Yasmine
_ENDS = ("ck", "d", "l", "ll", "m", "n", "nd", "ng", "nn", "r", "rd", "rk", "rt", "s", "ss", "st")
_CODAS = [*[""] * 24, *_ENDS, "t", "tz", "x", "z"]


def copied(pair: Pair) -> set[str]:
    """The names and numbers that both sides hold."""
    source, target = (set(_COPIED.findall(side)) for side in pair)
    return source & target


def made_up_name(random: Random, vowel: bool) -> str:
    """Two or three syllables, the first without an onset if it shall begin with a vowel."""
    draw = random.choice
    first = draw(_FIRST_VOWELS) if vowel else draw(_FIRST) + draw(_VOWELS)
    others = [draw(_ONSETS) + draw(_VOWELS) for _ in range(draw((1, 1, 2)))]
    return "".join(syllable + draw(_CODAS) for syllable in (first, *others)).capitalize()


Namer = Callable[[Random, bool], str]


class MadeUp:
    """Called with a pair: as it is, or, in a share of `rate`, with made-up names and numbers.

    The same seed makes the same of the same pairs in the same order. `name` makes a name that
    begins with a vowel, or with none.
    """

    def __init__(self, rate: float, seed: int = 0, name: Namer = made_up_name) -> None:
        self.rate, self._random, self._name = rate, Random(seed), name

    def __call__(self, pair: Pair) -> Pair:
        """What both sides hold is replaced on both sides, each by one of its kind."""
        if self._random.random() >= self.rate:
            return pair
        new = {word: self._another(word) for word in sorted(copied(pair))}
        return Pair(*(_COPIED.sub(lambda w: new.get(w[0], w[0]), side) for side in pair))

    def _another(self, word: str) -> str:
        """French says *de Tom*, but *d'Anna*: what begins with a vowel still does."""
        size, vowel = len(word), word[0] in ELIDING
        if word.isdecimal():
            return str(self._random.randint(10 ** (size - 1), 10**size - 1))
        if word.isupper():
            first = self._random.choice("AEIOU" if vowel else "BCDFGKLMNPRSTVZ")
            return first + "".join(self._random.choices(ascii_uppercase, k=size - 1))
        return self._name(self._random, vowel)
