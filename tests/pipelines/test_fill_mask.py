"""Filling in: the candidates of `transformers`, and one line for a text that has no mask."""

from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead import pipeline
from clearhead.errors import UserError
from tests.pipelines.models import bert, esm, theirs

TEXTS = ["The [MASK] sees a red bicycle.", "[MASK] old friend of mine often reads here.", "[MASK]"]


def same(ours: Any, expected: Any) -> None:
    """The same candidates in the same order, their probabilities up to rounding."""
    if isinstance(expected, list):
        assert len(ours) == len(expected)
        for mine, other in zip(ours, expected, strict=True):
            same(mine, other)
        return
    assert ours["token"] == expected["token"] and ours["score"] == pytest.approx(
        expected["score"], abs=1e-6
    )
    assert ours["token_str"] == expected["token_str"].replace(" ", "")
    assert ours["sequence"] == expected["sequence"]


def test_one_text_and_several_are_filled_as_transformers_fills_them(tmp_path: Path) -> None:
    bert(tmp_path, "BertForMaskedLM")
    fill = pipeline("fill-mask", model=tmp_path)
    expected = theirs("fill-mask", tmp_path, "BertForMaskedLM")
    same(fill(TEXTS[0]), expected(TEXTS[0]))
    same(fill(TEXTS, top_k=3), expected(TEXTS, top_k=3))
    assert sum(found["score"] for found in fill(TEXTS[0], top_k=10**6)) == pytest.approx(1)


def test_each_of_several_masks_gets_its_candidates(tmp_path: Path) -> None:
    bert(tmp_path, "BertForMaskedLM")
    text = "The [MASK] sees a [MASK] bicycle."
    ours = pipeline("fill-mask", model=tmp_path)(text, top_k=4)
    expected = theirs("fill-mask", tmp_path, "BertForMaskedLM")(text, top_k=4)
    for mine, other in zip(ours, expected, strict=True):
        assert [found["token"] for found in mine] == [found["token"] for found in other]
    assert all(found["sequence"].count("[MASK]") == 1 for mine in ours for found in mine)


def test_a_text_with_two_masks_is_theirs_but_for_its_ends(tmp_path: Path) -> None:
    bert(tmp_path, "BertForMaskedLM")
    text = "The [MASK] sees [MASK], [MASK]."
    ours = pipeline("fill-mask", model=tmp_path)(text)
    expected = theirs("fill-mask", tmp_path, "BertForMaskedLM")(text)
    for mine, other in zip(ours, expected, strict=True):
        framed = [f"[CLS] {one['sequence']} [SEP]" for one in mine]
        assert framed == [one["sequence"] for one in other]


def test_rows_without_a_token_are_no_candidates(tmp_path: Path) -> None:
    model = bert(tmp_path, "BertForMaskedLM")
    tokens = model.config.vocab_size
    model.resize_token_embeddings(tokens + 8, mean_resizing=False)  # a multiple for a GPU
    with torch.no_grad():
        model.cls.predictions.bias[tokens:] = 9.0
    model.save_pretrained(tmp_path)
    found = pipeline("fill-mask", model=tmp_path)(TEXTS[0], top_k=10**6)
    assert sorted(one["token"] for one in found) == list(range(tokens))


def test_only_the_words_asked_for_are_weighed(tmp_path: Path) -> None:
    bert(tmp_path, "BertForMaskedLM")
    fill = pipeline("fill-mask", model=tmp_path)
    found = fill(TEXTS[0], targets=["the", "a"])
    assert {one["token_str"] for one in found} == {"the", "a"}
    same(found, theirs("fill-mask", tmp_path, "BertForMaskedLM")(TEXTS[0], targets=["the", "a"]))
    assert fill(TEXTS[0], targets=["the", "a", "the"]) == found
    with pytest.raises(UserError, match=r"'zzqx' is not one of this model's tokens but \d"):
        fill(TEXTS[0], targets=["zzqx"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"targets": []}, "targets is empty; give words, or None"),
        ({"targets": [5]}, "text 0 is of type int"),
        ({"top_k": "a"}, "top_k='a' is not a number of candidates"),
        ({"top_k": 2.0}, "top_k=2.0 is not"),
        ({"top_k": 0}, "top_k=0 is not"),
    ],
)
def test_a_wrong_argument_is_refused(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    bert(tmp_path, "BertForMaskedLM")
    with pytest.raises(UserError, match=message):
        pipeline("fill-mask", model=tmp_path)(TEXTS[0], **given)


def test_a_residue_is_filled_in_too(tmp_path: Path) -> None:
    esm(tmp_path, "EsmForMaskedLM")
    fill = pipeline("fill-mask", model=tmp_path)
    found = fill("MKT<mask>YIAKQ", top_k=6)
    expected = theirs("fill-mask", tmp_path, "EsmForMaskedLM", "EsmTokenizer")
    for mine, other in zip(found, expected("MKT<mask>YIAKQ", top_k=6), strict=True):
        assert mine["token"] == other["token"]
        assert mine["score"] == pytest.approx(other["score"], abs=1e-6)
    real = next(one for one in fill("MKT<mask>YIAKQ", top_k=33) if one["token_str"] == "W")
    assert real["sequence"] == "MKTWYIAKQ"
    first, second = fill("<mask>KT<mask>A", top_k=33)
    assert "WKT<mask>A" in [one["sequence"] for one in first]
    assert "<mask>KTWA" in [one["sequence"] for one in second]


def test_lower_case_residues_are_residues(tmp_path: Path) -> None:
    """In FASTA, lower case marks repeats; as unknown tokens they would be lost without a word."""
    esm(tmp_path, "EsmForMaskedLM")
    fill = pipeline("fill-mask", model=tmp_path)
    assert fill("mkt<mask>Yiakq", targets=["w"]) == fill("MKT<mask>YIAKQ", targets=["W"])


def test_a_text_without_a_mask_is_told_how_a_mask_is_written(tmp_path: Path) -> None:
    bert(tmp_path, "BertForMaskedLM")
    fill = pipeline("fill-mask", model=tmp_path)
    with pytest.raises(UserError, match=r"'The cat sees\.' has no mask.*\[MASK\]"):
        fill([TEXTS[0], "The cat sees."])
    with pytest.raises(UserError, match=r"tokens with special tokens, and this model reads 48"):
        fill("[MASK]" + " cat" * 60)
    with pytest.raises(UserError, match="top_k=0"):
        fill(TEXTS[0], top_k=0)


def test_a_model_that_never_learned_to_fill_in_is_refused(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    with pytest.raises(UserError, match=r"needs a model with the head 'masked_lm'.* has pooler"):
        pipeline("fill-mask", model=tmp_path)


def test_the_answer_is_the_same_in_company_and_alone(tmp_path: Path) -> None:
    bert(tmp_path, "BertForMaskedLM")
    fill = pipeline("fill-mask", model=tmp_path)
    torch.set_num_threads(2)
    for text, found in zip(TEXTS, fill(TEXTS), strict=True):
        same(found, fill(text))
