"""Labels of texts, tokens and words are those of transformers."""

from pathlib import Path
from typing import Any

import pytest

from clearhead import pipeline
from clearhead.errors import UserError
from clearhead.pipelines.classification import STRATEGIES, Strategy, TextClassificationPipeline
from clearhead.pipelines.text_model import TextModel
from tests.pipelines.models import LABELS, bert, esm, labelled, theirs

MODEL = "BertForSequenceClassification"
TEXTS = ["A man rides a bicycle.", "The cat sleeps, and an old friend of mine reads.", "No"]


def same(ours: list[dict], expected: list[dict]) -> None:  # type: ignore[type-arg]
    assert [one["label"] for one in ours] == [one["label"] for one in expected]
    assert [one["score"] for one in ours] == pytest.approx(
        [one["score"] for one in expected], abs=1e-6
    )


@pytest.mark.parametrize(
    ("names", "problem"),
    [(["bad", "so-so", "good"], None), (["a", "b", "c", "d"], "multi_label_classification"),
     (["stars"], "regression"), (["spam"], None)],
)  # fmt: skip
def test_probabilities_are_theirs(tmp_path: Path, names: list[str], problem: str | None) -> None:
    bert(tmp_path, MODEL, problem_type=problem, **labelled(names))
    ours = pipeline("text-classification", model=tmp_path)
    expected = theirs("text-classification", tmp_path, MODEL)
    for text, found in zip(TEXTS, ours(TEXTS, top_k=None), strict=True):
        same(found, expected(text, top_k=None))
    same(ours(TEXTS[0]), expected(TEXTS[0]))
    same(ours(TEXTS), expected(TEXTS))


def test_a_pair_of_texts_is_read_as_a_pair(tmp_path: Path) -> None:
    bert(tmp_path, MODEL, **labelled(["follows", "contradicts", "neither"]))
    pair = {"text": TEXTS[0], "text_pair": TEXTS[1]}
    ours = pipeline("text-classification", model=tmp_path)
    expected = theirs("text-classification", tmp_path, MODEL)
    # Beside a single text of the same length, so that both stand in one run.
    found = ours([TEXTS[0] + " " + TEXTS[1].removesuffix(".") + ". .", pair], top_k=None)
    same(found[1], expected(pair, top_k=None))
    assert found[0] != found[1]
    with pytest.raises(UserError, match="a pair of texts is"):
        ours({"text": "a"})
    for top_k in (0, 1.5, "2"):
        with pytest.raises(UserError, match="is not a number of labels"):
            ours(pair, top_k=top_k)  # type: ignore[call-overload]
    with pytest.raises(UserError):
        ours({"text": "a", "text_pair": None})
    for text, other in (("cat " * 60, "a man"), ("a man", "cat " * 60), ("cat " * 30, "man " * 40)):
        long = {"text": text, "text_pair": other}
        cut = expected(long, top_k=None, truncation=True, max_length=48)
        same(ours(long, top_k=None, truncation=True), cut)


def test_a_protein_is_classified_too(tmp_path: Path) -> None:
    model = "EsmForSequenceClassification"
    esm(tmp_path, model, **labelled(["cytosol", "membrane", "nucleus"]))
    ours = pipeline("text-classification", model=tmp_path)
    expected = theirs("text-classification", tmp_path, model, "EsmTokenizer")
    for protein in ("MKTAYIAKQR", "MK"):
        same(ours(protein, top_k=None), expected(protein, top_k=None))


def test_a_model_without_names_numbers_its_labels(tmp_path: Path) -> None:
    bert(tmp_path, MODEL, num_labels=3)
    answers = pipeline("sentiment-analysis", model=tmp_path)(TEXTS[0], top_k=None)
    assert {one["label"] for one in answers} == {"LABEL_0", "LABEL_1", "LABEL_2"}


def test_a_long_text_is_refused_or_cut_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bert(tmp_path, MODEL)
    long = "cat " * 60
    reader = TextModel.from_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"input 'cat cat .*' has \d+ tokens.*model reads 48"):
        TextClassificationPipeline(reader)(["ok", long])
    expected = TextClassificationPipeline(reader, truncate=True)(["ok", long])
    assert "1 of 2 texts were cut to 48 tokens; the first is 'cat cat " in caplog.text
    assert TextClassificationPipeline(reader)(["ok", long], truncation=True) == expected
    pair = {"text": "cat", "text_pair": long}
    caplog.clear()
    TextClassificationPipeline(reader)([pair], truncation=True)
    assert "1 of 1 texts were cut" in caplog.text


@pytest.mark.parametrize("given", [None, 3, [None], ["a", 3]])
def test_what_is_no_text_is_refused(given: Any, tmp_path: Path) -> None:
    bert(tmp_path, MODEL)
    with pytest.raises(UserError, match=r"(the input|text \d) is (None|of type int)"):
        pipeline("text-classification", model=tmp_path)(given)


def test_a_model_without_labels_is_refused(tmp_path: Path) -> None:
    bert(tmp_path, "BertForMaskedLM")
    with pytest.raises(UserError, match=r"needs a model with the head 'sequence'.* has masked_lm"):
        pipeline("text-classification", model=tmp_path)


TAGGER = "BertForTokenClassification"
TAGGED = ["Ada Lovelace's friend lives in London, near the bicycles.", "No", "Où est-il, ce chat ?"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_tokens_words_and_groups_are_theirs(tmp_path: Path, strategy: Strategy) -> None:
    bert(tmp_path, TAGGER, **labelled(LABELS))
    ours = pipeline("token-classification", model=tmp_path)
    expected = theirs("token-classification", tmp_path, TAGGER)
    found = ours(TAGGED, aggregation_strategy=strategy)
    labels = set()
    for text, mine in zip(TAGGED, found, strict=True):
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
    bert(tmp_path, TAGGER, **labelled(LABELS[1:]))  # nothing is O
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


def test_the_words_of_a_long_text_are_cut_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bert(tmp_path, TAGGER, **labelled(LABELS[1:]))  # nothing is O
    tag = pipeline("token-classification", model=tmp_path)
    with pytest.raises(UserError, match="truncation=True in a pipeline"):
        tag("cat " * 60)
    words = tag("cat " * 60, truncation=True)
    assert [word["start"] for word in words] == list(range(0, 46 * 4, 4))  # 48 with special tokens
    assert "1 of 1 texts were cut to 48 tokens" in caplog.text


def test_an_unknown_strategy_is_refused_with_those_there_are(tmp_path: Path) -> None:
    bert(tmp_path, TAGGER)
    with pytest.raises(UserError, match="'best' is unknown; give none, simple, first"):
        pipeline("token-classification", model=tmp_path)("a", "best")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["sequence", "token"])
def test_lower_case_residues_have_the_labels_of_residues(tmp_path: Path, kind: str) -> None:
    esm(tmp_path, f"EsmFor{kind.title()}Classification", **labelled(LABELS))
    label = pipeline(f"{'text' if kind == 'sequence' else kind}-classification", model=tmp_path)
    lower, upper = label(["mktayiakqr", "MKTAYIAKQR"])
    assert lower == upper
