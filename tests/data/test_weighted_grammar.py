"""The corpus `measured:COUNT`: what is no grammar, and the same sentences for the same seed."""

import pytest

from clearhead.data.weighted_english import Measured
from clearhead.data.weighted_grammar import Rules, WeightedGrammar


@pytest.mark.parametrize(
    ("rules", "message"),
    [({"S": [(0, ("a",))]}, "no rule with a weight"), ({"S": [(1, ())]}, "an empty side")],
)
def test_what_is_no_grammar_is_refused(rules: Rules, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WeightedGrammar(rules)


def test_the_same_seed_says_the_same_sentences_and_another_says_others() -> None:
    assert list(Measured(20)) == list(Measured(20)) != list(Measured(20, seed=1))
    assert list(Measured(5)) == list(Measured(20))[:5]
