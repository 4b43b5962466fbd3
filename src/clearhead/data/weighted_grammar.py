"""Probabilistic context-free grammars, and the rules of English noun phrases and places.

A rule rewrites a symbol into words and symbols, and is chosen with its probability, so each
sentence has a known probability. The rules of phrases come from the grammar's own lexicon.
"""

import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from random import Random

from clearhead.data.grammar.choose_phrase import NUMBERS, POSSESSIVES, attributes
from clearhead.data.grammar.english import takes_an
from clearhead.data.grammar.inflection import english_noun
from clearhead.data.grammar.lexicon import Adjective, Noun, Tags, names
from clearhead.data.grammar.vocabulary import adjective_weight, noun_weights, small

Side = tuple[str, ...]
Weighted = tuple[float, Side]
Rules = Mapping[str, Sequence[Weighted]]
ONE, MANY = "one", "many"
PRONOUNS = {
    "I": ((9, "I"),),
    ONE: ((10, "he"), (10, "she")),
    MANY: ((9, "you"), (6, "we"), (9, "they")),
}
_UNOWNED = frozenset({"human", "animal", "nature", "transit", "fixture"})
_WITH_ADJECTIVE = 0.24


class WeightedGrammar:
    """Rules whose weights are normalized for each symbol; a symbol without a rule is a word.

    Raises:
        ValueError: a symbol has no rule with a weight, or an empty side.
    """

    def __init__(self, rules: Rules, start: str = "S") -> None:
        self.start = start
        self.rules = {symbol: _normal(symbol, sides) for symbol, sides in rules.items()}
        self._draws = {
            symbol: (list(accumulate(p for p, _ in sides))[:-1], [side[::-1] for _, side in sides])
            for symbol, sides in self.rules.items()
        }

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


def _normal(symbol: str, sides: Sequence[Weighted]) -> list[Weighted]:
    """The rules with probabilities in place of weights; those of weight 0 are dropped."""
    kept = [(weight, side) for weight, side in sides if weight > 0]
    total = math.fsum(weight for weight, _ in kept)
    if not kept or not all(side for _, side in kept):
        raise ValueError(f"{symbol} has no rule with a weight, or one with an empty side")
    return [(weight / total, side) for weight, side in kept]


class Phrases:
    """Collects rules; every method adds what its symbol needs and returns the symbol."""

    def __init__(self) -> None:
        self.rules: dict[str, list[Weighted]] = defaultdict(list)
        for name, _ in names():
            self._add("<name>", 1, name)
        for word in POSSESSIVES:
            self._add("<my>", 1, word)
        self._add("<my>", 3, "<name>", "'s")
        for word in NUMBERS:
            self._add("<number>", 1, word)

    def _add(self, symbol: str, weight: float, *side: str) -> None:
        self.rules[symbol].append((weight, side))

    def subject(self, tags: Tags, number: str) -> str:
        """A subject; for people a pronoun or a name half of the time."""
        symbol = f"<subject {_key(tags)} {number}>"
        if symbol not in self.rules:
            if "human" in tags:
                for weight, word in PRONOUNS[number]:
                    self._add(symbol, weight, word)
                self._add(symbol, 20 * (number == ONE), "<name>")
                self._add(symbol, 4 * (number == MANY), "<name>", "and", "<name>")
            if number in (ONE, MANY) and self.has(tags, number):
                self._add(symbol, 20, self.nouns(tags, number))
        return symbol

    def object(self, tags: Tags) -> str:
        """An object: a pronoun, a name or a noun."""
        symbol = f"<object {_key(tags)}>"
        if symbol not in self.rules:
            if "human" in tags:
                for word in ("him", "her", "them", "us"):
                    self._add(symbol, 4, word)
                self._add(symbol, 16, "<name>")
            else:
                self._add(symbol, 8, "it")
                self._add(symbol, 5, "them")
            self._add(symbol, 60, self.nouns(tags, ONE))
            if self.has(tags, MANY):
                self._add(symbol, 27, self.nouns(tags, MANY))
        return symbol

    def nouns(self, tags: Tags, number: str, sort: str = "any") -> str:
        """A noun with one of the tags, and its determiner; `sort`: any, the or a."""
        symbol = f"<{sort} {_key(tags)} {number}>"
        if symbol not in self.rules:
            for noun in _fitting(tags, number):
                self._add(
                    symbol, noun_weights(small())[noun.english], self._noun(noun, number, sort)
                )
        return symbol

    @staticmethod
    def has(tags: Tags, number: str) -> bool:
        """Whether a noun has one of the tags in this number."""
        return bool(_fitting(tags, number))

    def _noun(self, noun: Noun, number: str, sort: str) -> str:
        symbol = f"<{sort} {noun.english} {number}>"
        if symbol in self.rules:
            return symbol
        form, plural = english_noun(noun, number == MANY), number == MANY
        simple = not {"kin", "sport"} & noun.tags
        fitting = attributes(small(), noun) if simple else ()
        for weight, determiner in _determiners(noun, plural, sort):
            share = _WITH_ADJECTIVE if fitting else 0.0
            self._add(symbol, weight * (1 - share), *_before(determiner, form), form)
            if fitting:
                adjectives = self._adjectives(noun, fitting, determiner)
                self._add(symbol, weight * share, *adjectives, form)
        return symbol

    def _adjectives(self, noun: Noun, fitting: Iterable[Adjective], determiner: str) -> Side:
        """A determiner and an adjective, whose first sound selects a or an."""
        kind = "a" if determiner == "a" else ""
        symbol = f"<{kind} adjective {noun.english}>"
        if symbol not in self.rules:
            for adjective in fitting:
                words = adjective.english.split()
                before = _before("a", words[0]) if kind else ()
                self._add(symbol, adjective_weight(small(), adjective), *before, *words)
        return (symbol,) if kind or not determiner else (determiner, symbol)

    def place(self, figure: str) -> str:
        """A place for an `animate`, an `animate animal` or a `thing`."""
        symbol = f"<place {figure}>"
        if symbol not in self.rules:
            for preposition in small().prepositions:
                if preposition.when in figure.split():
                    where = self.nouns(frozenset({preposition.slot}), ONE, "the")
                    self._add(symbol, 1, *preposition.english, where)
        return symbol


def _fitting(tags: Tags, number: str) -> list[Noun]:
    found = [noun for noun in small().nouns if noun.tags & tags]
    if number == MANY:
        found = [noun for noun in found if not {"mass", "single", "sport"} & noun.tags]
    return found


def _determiners(noun: Noun, plural: bool, sort: str) -> list[tuple[float, str]]:
    if "sport" in noun.tags:
        return [(1, "")]
    if "kin" in noun.tags:
        return [(1, "<my>")]
    mine = not _UNOWNED & noun.tags or {"pet", "known_person"} & noun.tags
    the = [(42, "the"), (5, "these" if plural else "this"), (5, "those" if plural else "that")]
    the += [(18, "<my>")] if mine else []
    if "mass" in noun.tags:
        a = [(35.0, "some")]
    elif plural:
        a = [(10, "some"), (12, "<number>"), (3, "many"), (2, "several")]
    else:
        a = [(26, "a")]
    kinds: dict[str, list[tuple[float, str]]] = {"any": [*the, *a], "the": [*the], "a": [*a]}
    return kinds[sort]


def _before(determiner: str, following: str) -> Side:
    if determiner == "a":
        return ("an" if takes_an(following) else "a",)
    return (determiner,) if determiner else ()


def _key(tags: Tags) -> str:
    return "+".join(sorted(tags))
