"""Probabilities sum to 1, and what is computed is what enumeration finds."""

import math
from collections import Counter
from itertools import product
from random import Random

import pytest

from benchmarks.grammar_probability import Probabilities, english, probability
from clearhead.data.weighted_english import english_grammar, written
from clearhead.data.weighted_grammar import Rules, Side, WeightedGrammar

CLEAR: Rules = {
    "S": [(2, ("N", "sees", "N")), (1, ("N", "sleeps")), (0, ("nothing",))],
    "N": [(3, ("Paul",)), (1, ("the", "A", "cat")), (1, ("cats",))],
    "A": [(1, ("red",)), (1, ("very", "red"))],
}
# "x y z" has two derivations.
AMBIGUOUS: Rules = {
    "S": [(3, ("A", "B")), (1, ("x", "C"))],
    "A": [(1, ("x",)), (2, ("x", "y"))],
    "B": [(1, ("y", "z")), (4, ("z",))],
    "C": [(1, ("w",)), (1, ("z",))],
}


def sentences(grammar: WeightedGrammar, symbol: str) -> dict[Side, float]:
    """Every sentence with its probability, by enumeration."""
    if symbol not in grammar.rules:
        return {(symbol,): 1.0}
    found: dict[Side, float] = {}
    for p, side in grammar.rules[symbol]:
        parts = [sentences(grammar, part).items() for part in side]
        for choice in product(*parts):  # one sentence of each part
            words = tuple(word for part, _ in choice for word in part)
            found[words] = found.get(words, 0.0) + p * math.prod(q for _, q in choice)
    return found


def entropy(grammar: WeightedGrammar) -> float:
    return -sum(p * math.log(p) for p in sentences(grammar, "S").values())


@pytest.mark.parametrize("rules", [CLEAR, AMBIGUOUS], ids=["clear", "ambiguous"])
def test_the_probability_of_every_sentence_is_what_enumeration_finds(rules: Rules) -> None:
    grammar = WeightedGrammar(rules)
    found = sentences(grammar, "S")
    assert math.fsum(found.values()) == pytest.approx(1, abs=1e-12)
    for words, p in found.items():
        assert Probabilities(grammar).of(words) == pytest.approx(p, rel=1e-12)


def test_two_derivations_of_one_sentence_add_up() -> None:
    grammar = WeightedGrammar(AMBIGUOUS)
    expected = 3 / 4 * (1 / 3 * 1 / 5 + 2 / 3 * 4 / 5)
    assert Probabilities(grammar).of(["x", "y", "z"]) == pytest.approx(expected, rel=1e-12)


def test_the_entropy_of_a_clear_grammar_is_that_of_its_sentences() -> None:
    grammar = WeightedGrammar(CLEAR)
    assert Probabilities(grammar).derivation_entropy == pytest.approx(entropy(grammar), rel=1e-12)
    length = sum(p * len(words) for words, p in sentences(grammar, "S").items())
    assert Probabilities(grammar).mean_length == pytest.approx(length, rel=1e-12)


def test_ambiguity_makes_sentences_less_uncertain_than_derivations() -> None:
    grammar = WeightedGrammar(AMBIGUOUS)
    assert entropy(grammar) < Probabilities(grammar).derivation_entropy - 0.1


@pytest.mark.parametrize("words", [[], ["x"], ["x", "y"], ["x", "y", "z", "z"], ["q"]])
def test_what_cannot_be_said_has_no_probability(words: list[str]) -> None:
    assert Probabilities(WeightedGrammar(AMBIGUOUS)).of(words) == 0


def test_parts_of_english_sum_to_one() -> None:
    grammar = english_grammar()
    for symbol in ("<place animate>", "<subject human one>", "<object drink>", "<did not>"):
        assert math.fsum(sentences(grammar, symbol).values()) == pytest.approx(1, abs=1e-9), symbol


def test_every_english_sentence_is_recognized_from_its_text() -> None:
    grammar, rng = english_grammar(), Random(11)
    surprise = []
    for _ in range(80):
        words = grammar.sample(rng)
        p = probability(written(words))
        assert p == pytest.approx(english().of(words), rel=1e-9) and p > 0
        surprise.append(-math.log(p))
    mean = sum(surprise) / len(surprise)
    deviation = math.sqrt(sum((s - mean) ** 2 for s in surprise)) / len(surprise)
    assert abs(mean - english().derivation_entropy) < 4 * deviation
    assert probability("Bicycles rides a the man.") == 0


@pytest.mark.parametrize("text", ["", " ", "do the horses sleep?"])
def test_a_text_that_is_never_generated_has_no_probability(text: str) -> None:
    assert probability("Do the horses sleep?") > 0
    assert probability(text) == 0


@pytest.mark.parametrize(
    "rules",
    [{"S": [(1, ("a", "S"))]}, {"S": [(1, ("T",))], "T": [(1, ("S",)), (1, ("a",))]}],
)
def test_a_grammar_that_contains_itself_is_refused(rules: Rules) -> None:
    with pytest.raises(ValueError, match="contains itself"):
        Probabilities(WeightedGrammar(rules))


def test_samples_come_as_often_as_they_should() -> None:
    grammar, draws = WeightedGrammar(AMBIGUOUS), 20_000
    rng = Random(5)
    counts = Counter(tuple(grammar.sample(rng)) for _ in range(draws))
    for words, p in sentences(grammar, "S").items():
        deviation = math.sqrt(p * (1 - p) / draws)
        assert abs(counts[words] / draws - p) < 4 * deviation
