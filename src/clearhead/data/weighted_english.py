"""English sentences whose probabilities are known: the corpus `measured:COUNT[:SEED]`.

The grammar that makes translations draws a tree by rejection: what a sentence's probability
is there, nobody can add up. This one is of the same lexicon, inflection and balance of
nouns, but context-free: subject, tense, verb, object and place are drawn rule by rule, so
the probability of every sentence is exact (`WeightedGrammar.probability`).
"""

from collections.abc import Iterator
from functools import cache
from random import Random

from clearhead.data.grammar.segmentation import words as split
from clearhead.data.weighted_clauses import Clauses
from clearhead.data.weighted_grammar import WeightedGrammar
from clearhead.data.weighted_phrases import Phrases


@cache
def english_grammar() -> WeightedGrammar:
    """The rules, built once from the lexicon."""
    phrases = Phrases()
    Clauses(phrases)
    return WeightedGrammar(phrases.rules)


class Measured:
    """`count` sentences, each drawn by itself; the same seed gives the same sentences."""

    def __init__(self, count: int, seed: int = 0) -> None:
        self.count, self.seed = count, seed

    def __iter__(self) -> Iterator[str]:
        grammar, rng = english_grammar(), Random(f"measured {self.seed}")
        for _ in range(self.count):
            yield written(grammar.sample(rng))


def written(words: list[str]) -> str:
    """A sentence as it is written."""
    text = words[0]
    for word in words[1:]:
        text += word if word in (".", "?", "'s") else f" {word}"
    return text[0].upper() + text[1:]


def probability(sentence: str) -> float:
    """Of a sentence as it is written: 0 if the grammar cannot say it."""
    first, *rest = split(sentence)
    beginnings = {first, first[0].lower() + first[1:]}  # "I" and names keep their capital
    return sum(english_grammar().probability([begin, *rest]) for begin in sorted(beginnings))
