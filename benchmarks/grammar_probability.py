r"""The probabilities of the sentences of `measured:COUNT`, and their entropy.

The probability of a derivation is the product of its rules', that of a sentence the sum over its
derivations (the inside algorithm, Baker 1979), and the mean of :math:`-\log p` over sentences is
the entropy: no language model's cross-entropy can be lower (Shannon 1948).
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property

from clearhead.data.grammar.bitext import words as split
from clearhead.data.weighted_english import english_grammar
from clearhead.data.weighted_grammar import Side, WeightedGrammar

Ends = dict[int, float]


class Probabilities:
    """Of the sentences of one grammar.

    Raises:
        ValueError: a symbol contains itself, so that there are infinitely many sentences.
    """

    def __init__(self, grammar: WeightedGrammar) -> None:
        self.rules, self.start = grammar.rules, grammar.start
        self._depths: dict[str, int] = {}
        self._measure(self.start, ())

    def of(self, words: Sequence[str]) -> float:
        """The probability of a sentence: the sum over its derivations; 0 if there is none."""
        return _Inside(self, list(words)).ends(self.start, 0).get(len(words), 0.0)

    def beginning(self, symbol: str, word: str) -> list[tuple[float, Side]]:
        """The rules of a symbol that can begin with this word, with their probabilities."""
        return self._by_first_word[symbol].get(word, [])

    @cached_property
    def derivation_entropy(self) -> float:
        """The exact entropy of a derivation in nats; of a sentence too, unless it has several."""
        return self._mean(lambda p, side: -math.log(p))

    @cached_property
    def mean_length(self) -> float:
        """The exact mean number of words in a sentence."""
        return self._mean(lambda p, side: sum(symbol not in self.rules for symbol in side))

    def _mean(self, worth: Callable[[float, Side], float]) -> float:
        """The expected sum of `worth` over the rules of a derivation."""
        means: dict[str, float] = {}
        for symbol in sorted(self._depths, key=self._depths.__getitem__):  # parts come first
            means[symbol] = sum(
                p * (worth(p, side) + sum(means.get(part, 0.0) for part in side))
                for p, side in self.rules[symbol]
            )
        return means[self.start]

    @cached_property
    def _by_first_word(self) -> dict[str, dict[str, list[tuple[float, Side]]]]:
        table: dict[str, dict[str, list[tuple[float, Side]]]] = {}
        for symbol in sorted(self._depths, key=self._depths.__getitem__):
            table[symbol] = {}
            for p, side in self.rules[symbol]:
                for word in table.get(side[0], [side[0]]):
                    table[symbol].setdefault(word, []).append((p, side))
        return table

    def _measure(self, symbol: str, above: Side) -> int:
        """The number of levels below a symbol."""
        if symbol not in self.rules:
            return 0
        if symbol in above:
            raise ValueError(f"{symbol} contains itself")
        if symbol not in self._depths:
            parts = {part for _, side in self.rules[symbol] for part in side}
            below = [self._measure(part, (*above, symbol)) for part in sorted(parts)]
            self._depths[symbol] = 1 + max(below)
        return self._depths[symbol]


class _Inside:
    """The inside algorithm over one sentence, from the start symbol down."""

    def __init__(self, grammar: Probabilities, words: list[str]) -> None:
        self.grammar, self.words = grammar, words
        self._known: dict[tuple[str, int], Ends] = {}

    def ends(self, symbol: str, begin: int) -> Ends:
        """The possible ends of a symbol that begins at `begin`, with their probabilities."""
        word = self.words[begin] if begin < len(self.words) else ""
        if symbol not in self.grammar.rules:
            return {begin + 1: 1.0} if word == symbol else {}
        if (symbol, begin) not in self._known:
            found: Ends = {}
            for p, side in self.grammar.beginning(symbol, word):
                for end, inside in self._of_side(side, begin).items():
                    found[end] = found.get(end, 0.0) + p * inside
            self._known[symbol, begin] = found
        return self._known[symbol, begin]

    def _of_side(self, side: Side, begin: int) -> Ends:
        reached = {begin: 1.0}
        for symbol in side:
            after: Ends = {}
            for middle, p in reached.items():
                for end, inside in self.ends(symbol, middle).items():
                    after[end] = after.get(end, 0.0) + p * inside
            if not after:
                return after
            reached = after
        return reached


@cache
def english() -> Probabilities:
    """Of the sentences of `measured:COUNT`."""
    return Probabilities(english_grammar())


def probability(sentence: str) -> float:
    """The probability of a text: 0 if the grammar does not generate it."""
    first, *rest = split(sentence) or [""]
    if first[:1] != first[:1].upper():
        return 0.0
    beginnings = {first, first[:1].lower() + first[1:]}  # "I" and names keep their capital
    return sum(english().of([begin, *rest]) for begin in sorted(beginnings))
