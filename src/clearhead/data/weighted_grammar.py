r"""Probabilistic context-free grammars: each sentence has a known probability.

A rule rewrites a symbol into words and symbols, and is chosen with its probability. The
probability of a derivation is the product of its rules', that of a sentence the sum over its
derivations (the inside algorithm, Baker 1979), and the mean of :math:`-\log p` over sentences is
the entropy: no language model's cross-entropy can be lower (Shannon 1948).
"""

import math
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, product
from random import Random

Side = tuple[str, ...]
Rules = Mapping[str, Sequence[tuple[float, Side]]]
Ends = dict[int, float]
Worth = Callable[[float, Side], float]


class WeightedGrammar:
    """Rules whose weights are normalised for each symbol; a symbol without a rule is a word.

    No symbol may contain itself and no side may be empty: there are finitely many sentences.

    Raises:
        ValueError: a symbol contains itself, or has no rule with a weight, or an empty side.
    """

    def __init__(self, rules: Rules, start: str = "S") -> None:
        self.start = start
        self.rules = {symbol: _normal(symbol, sides) for symbol, sides in rules.items()}
        self._draws = {
            symbol: (list(accumulate(p for p, _ in sides))[:-1], [side[::-1] for _, side in sides])
            for symbol, sides in self.rules.items()
        }
        self._depths: dict[str, int] = {}
        self._measure(start, ())

    def sample(self, rng: Random) -> list[str]:
        """The words of one sentence."""
        words, todo = [], [self.start]
        while todo:
            symbol = todo.pop()
            if symbol in self._draws:
                thresholds, sides = self._draws[symbol]
                todo += sides[bisect(thresholds, rng.random())]
            else:
                words.append(symbol)
        return words

    def probability(self, words: Sequence[str]) -> float:
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

    def sentences(self, symbol: str | None = None) -> dict[Side, float]:
        """Every sentence with its probability, by enumeration: for small grammars and symbols."""
        if (symbol := symbol or self.start) not in self.rules:
            return {(symbol,): 1.0}
        found: dict[Side, float] = {}
        for p, side in self.rules[symbol]:
            parts = [self.sentences(part).items() for part in side]
            for choice in product(*parts):  # one sentence of each part
                words = tuple(word for part, _ in choice for word in part)
                found[words] = found.get(words, 0.0) + p * math.prod(q for _, q in choice)
        return found

    def _mean(self, worth: Worth) -> float:
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

    def __init__(self, grammar: WeightedGrammar, words: list[str]) -> None:
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


def _normal(symbol: str, sides: Sequence[tuple[float, Side]]) -> list[tuple[float, Side]]:
    """The rules with probabilities in place of weights; those of weight 0 are dropped."""
    kept = [(weight, side) for weight, side in sides if weight > 0]
    total = math.fsum(weight for weight, _ in kept)
    if not kept or not all(side for _, side in kept):
        raise ValueError(f"{symbol} has no rule with a weight, or one with an empty side")
    return [(weight / total, side) for weight, side in kept]
