"""Labels of words: the tokens, words, groups and spans of `transformers`."""

from pathlib import Path

import pytest

from clearhead import pipeline
from clearhead.errors import UserError
from clearhead.pipelines.tagging import STRATEGIES, Strategy
from tests.pipelines.models import LABELS, bert, esm, labelled, theirs

MODEL = "BertForTokenClassification"
TEXTS = ["Ada Lovelace's friend lives in London, near the bicycles.", "No", "Où est-il, ce chat ?"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_tokens_words_and_groups_are_theirs(tmp_path: Path, strategy: Strategy) -> None:
    bert(tmp_path, MODEL, **labelled(LABELS))
    ours = pipeline("token-classification", model=tmp_path)
    expected = theirs("token-classification", tmp_path, MODEL)
    found = ours(TEXTS, aggregation_strategy=strategy)
    labels = set()
    for text, mine in zip(TEXTS, found, strict=True):
        other = expected(text, aggregation_strategy=strategy)
        assert len(mine) == len(other)
        for one, two in zip(mine, other, strict=True):
            assert one.pop("score") == pytest.approx(float(two.pop("score")), abs=1e-6)
            if strategy != "none":
                assert one["word"] == text[two["start"] : two["end"]]
                one["word"] = two["word"]  # as the tokenizer spells it: we leave it as it stands
            assert one == two
            labels.add(one.get("entity", one.get("entity_group")))
    assert len(labels) > 1


def test_spans_are_cut_out_of_the_text_as_it_was_given(tmp_path: Path) -> None:
    bert(tmp_path, MODEL, **labelled(LABELS[1:]))  # nothing is O
    text = "Ada  LIVES in Orléans."
    words = pipeline("ner", model=tmp_path)(text, aggregation_strategy="first")
    assert "".join(text[one["start"] : one["end"]] for one in words).replace(" ", "") == (
        text.replace(" ", "")
    )


def test_a_residue_is_a_word(tmp_path: Path) -> None:
    model = "EsmForTokenClassification"
    esm(tmp_path, model, **labelled(["H", "E", "C"]))
    tag = pipeline("token-classification", model=tmp_path)
    tokens = tag("MKT AYjjI<unk>K")
    assert [token["word"] for token in tokens] == [*"MKTAY", "jj", "I", "<unk>", "K"]
    assert [(t["start"], t["end"]) for t in tokens[:7]] == [
        (0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 8), (8, 9)
    ]  # fmt: skip
    assert [t["index"] for t in tokens] == list(range(1, 10))


def test_an_unknown_strategy_is_refused_with_those_there_are(tmp_path: Path) -> None:
    bert(tmp_path, MODEL)
    with pytest.raises(UserError, match="'best' is unknown; give none, simple, first"):
        pipeline("token-classification", model=tmp_path)("a", "best")  # type: ignore[arg-type]
