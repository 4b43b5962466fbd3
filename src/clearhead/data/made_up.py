"""Names and numbers that nobody has seen, so that a model learns to copy what it does not know.

A corpus holds few names and those often, Tom in every twelfth pair of Tatoeba. Who learned from
nothing else writes one of them for a name that is new, or something like it. But what stands
unchanged on both sides of a pair could be any other: *Tom lives in 42 Boston Street* is as true
of *Vekora* and *73*.
"""

import re
from random import Random

from clearhead.data.pairs import Pair

# A name, an abbreviation, or a number that is no small one: "1 year" and "2 years" differ in
# more than the digit.
_COPIED = re.compile(r"\b(?:[A-Z][a-z]{2,}|[A-Z]{2,}|[1-9]\d+)\b")
_VOWELS, _CONSONANTS = "aeiou", "bcdfgklmnprstvz"
_DOUBLED = 0.2


def copied(pair: Pair) -> set[str]:
    """The names and numbers that both sides hold."""
    source, target = (set(_COPIED.findall(side)) for side in pair)
    return source & target


class MadeUp:
    """Called with a pair: as it is, or, in a share of `rate`, with made-up names and numbers.

    The same seed makes the same of the same pairs in the same order.
    """

    def __init__(self, rate: float, seed: int = 0) -> None:
        self.rate, self._random = rate, Random(seed)

    def __call__(self, pair: Pair) -> Pair:
        """What both sides hold is replaced on both sides, each by one of its kind."""
        if self._random.random() >= self.rate:
            return pair
        new = {word: self._another(word) for word in sorted(copied(pair))}
        return Pair(*(_COPIED.sub(lambda w: new.get(w[0], w[0]), side) for side in pair))

    def _another(self, word: str) -> str:
        size = len(word)
        if word.isdecimal():
            return str(self._random.randint(10 ** (size - 1), 10**size - 1))
        if word.isupper():
            return self._name(size, word[0]).upper()
        return self._name(self._random.randint(3, 9), word[0]).capitalize()

    def _name(self, size: int, first: str) -> str:
        """Vowels and consonants by turns, now and then two of a kind.

        French says *de Tom*, but *d'Anna*: what begins with a vowel still does.
        """
        kinds = [_VOWELS, _CONSONANTS] if first in "AEIOUYH" else [_CONSONANTS, _VOWELS]
        turns = [
            (place + (place > 1 and self._random.random() < _DOUBLED)) % 2 for place in range(size)
        ]
        return "".join(self._random.choice(kinds[turn]) for turn in turns)
