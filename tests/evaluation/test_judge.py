import logging

import pytest

from clearhead.evaluation.examples import Examples, read_examples
from clearhead.evaluation.judge import judge
from clearhead.translation import Translator
from tests.evaluation.tiny import model, tokenizer

GRAMMAR = read_examples("grammar:test:6")


def test_without_the_grammar_there_are_scores_only() -> None:
    examples = Examples(GRAMMAR.sources, GRAMMAR.references)
    verdict = judge(examples, examples.references, translator=Translator(model(), tokenizer()))
    assert verdict.exact_match is None and verdict.alignment is None
    assert verdict.comparison is None


def test_everything_at_once() -> None:
    verdict = judge(GRAMMAR, GRAMMAR.references, GRAMMAR.sources, Translator(model(), tokenizer()))
    assert verdict.exact_match is not None and verdict.exact_match.overall.right == 6
    assert verdict.comparison is not None and len(verdict.comparison) == 2
    assert verdict.alignment is not None and verdict.alignment.sentences == 6


def test_a_model_too_short_to_be_led_along_still_gets_its_scores(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "clearhead"):
        verdict = judge(GRAMMAR, GRAMMAR.references, translator=Translator(model(2), tokenizer()))
    assert verdict.scores.bleu.value == pytest.approx(100)
    assert verdict.alignment is None
    assert "no alignment error rate: none of the 6 sentences fits" in caplog.text
