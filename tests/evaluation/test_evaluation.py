import logging

import pytest

from clearhead.evaluation.evaluation import evaluate
from clearhead.evaluation.examples import Examples, read_examples
from clearhead.translation import Translator
from tests.evaluation.tiny import model, tokenizer

GRAMMAR = read_examples("grammar:test:6")


def test_without_the_grammar_there_are_scores_only() -> None:
    examples = Examples(GRAMMAR.sources, GRAMMAR.references)
    found = evaluate(examples, examples.references, translator=Translator(model(), tokenizer()))
    assert found.exact_match is None and found.alignment is None
    assert found.comparison is None


def test_all_metrics_together() -> None:
    found = evaluate(GRAMMAR, GRAMMAR.references, GRAMMAR.sources, Translator(model(), tokenizer()))
    assert found.exact_match is not None and found.exact_match.overall.right == 6
    assert found.comparison is not None and len(found.comparison) == 2
    assert found.alignment is not None and found.alignment.sentences == 6


def test_without_alignment_a_model_with_few_positions_still_has_scores(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "clearhead"):
        found = evaluate(GRAMMAR, GRAMMAR.references, translator=Translator(model(2), tokenizer()))
    assert found.scores.bleu.value == pytest.approx(100)
    assert found.alignment is None
    assert "no alignment error rate: none of the 6 sentences fits" in caplog.text
