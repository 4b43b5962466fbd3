"""Embeddings of texts: one vector each, in order, pooled as the directory says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from clearhead import pipeline
from clearhead.blocks import padding_mask
from clearhead.data.corpus import GrammarPairs
from clearhead.errors import UserError
from clearhead.models.bert import masked_mean
from clearhead.pipelines import embedding, text_model
from clearhead.pipelines.embedding import Embedder, Named, SentenceSettings
from clearhead.pretrained import load
from tests.pipelines.models import bert, esm, theirs


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def directory(path: Path, pooling: dict[str, Any], *more: str) -> Path:
    kinds = ["Transformer", "Pooling", *more]
    modules = [
        {
            "idx": n,
            "type": f"sentence_transformers.models.{kind}",
            "path": f"{n}_{kind}" if n else "",
        }
        for n, kind in enumerate(kinds)
    ]
    write(path / "modules.json", modules)
    write(path / "1_Pooling" / "config.json", {"word_embedding_dimension": 12} | pooling)
    return path


def refused(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        SentenceSettings.of(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plain_directory_means_a_plain_mean(tmp_path: Path) -> None:
    assert SentenceSettings.of(tmp_path) == SentenceSettings("mean", False, None)


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
     ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
     ({"pooling_mode": "mean", "include_prompt": True}, "mean"), ({"pooling_mode": "cls"}, "cls")],
)  # fmt: skip
def test_old_files_and_new_ones_say_how_to_pool(
    tmp_path: Path, pooling: dict[str, Any], expected: str
) -> None:
    found = SentenceSettings.of(directory(tmp_path, pooling))
    assert found == SentenceSettings(expected, False, None)  # type: ignore[arg-type]


def test_length_one_and_the_longest_text_are_theirs(tmp_path: Path) -> None:
    path = directory(tmp_path, {"pooling_mode": "mean"}, "Normalize")
    write(path / "sentence_bert_config.json", {"max_seq_length": 256, "do_lower_case": False})
    assert SentenceSettings.of(path) == SentenceSettings("mean", True, 256)
    write(path / "sentence_bert_config.json", {"max_seq_length": None})
    assert SentenceSettings.of(path).limit is None


def test_the_longest_text_of_a_newer_directory_is_its_tokenizers(tmp_path: Path) -> None:
    path = directory(tmp_path, {"pooling_mode": "mean"})
    write(path / "sentence_bert_config.json", {"transformer_task": "feature-extraction"})
    write(path / "tokenizer_config.json", {"model_max_length": 7})
    assert SentenceSettings.of(path).limit == 7
    write(path / "sentence_bert_config.json", {"max_seq_length": 5})
    assert SentenceSettings.of(path).limit == 5


def test_another_pooling_keeps_the_longest_text(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    directory(tmp_path, {"pooling_mode": "cls"}, "Normalize")
    write(tmp_path / "sentence_bert_config.json", {"max_seq_length": 6})
    embedder = Embedder.from_pretrained(tmp_path, pooling="mean")
    assert embedder.settings == SentenceSettings("mean", False, 6)


def test_what_we_do_not_have_is_named(tmp_path: Path) -> None:
    assert "lists the module 'Dense'" in refused(
        directory(tmp_path, {"pooling_mode": "mean"}, "Dense")
    )
    assert "the pooling max, which is not supported (supported: mean, cls)" in refused(
        directory(tmp_path, {"pooling_mode": "max"})
    )
    both = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    assert "cls_token and mean_tokens" in refused(directory(tmp_path, both))
    (tmp_path / "modules.json").write_text("{", encoding="utf-8")
    assert "modules.json is not a JSON file" in refused(tmp_path)
    write(tmp_path / "modules.json", {"a": 1})
    assert "holds no list of modules" in refused(tmp_path)


TEXTS = [pair.source for pair in GrammarPairs("train", 37)] + ["", "Où ?"]
PROTEINS = ["MKTAYIAKQR", "MK", "MKT<mask>YIAKQRQISFVK", "M" * 40, "MKT<mask>YIAKQ"]


@torch.no_grad()
def hidden_of(directory: Path, texts: list[str]) -> tuple[Tensor, Tensor]:
    """The readable model's last hidden states of one padded batch, and its mask."""
    model, tokenizer = load(directory)
    pad = model.config.pad_id
    rows = tokenizer.encode_batch(texts)
    width = max(map(len, rows))
    ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
    mask = padding_mask(ids, pad)
    return model(ids, mask), mask


@pytest.mark.parametrize(("family", "texts"), [("bert", TEXTS), ("esm", PROTEINS)])
def test_the_mean_is_that_of_the_readable_model(
    tmp_path: Path, family: str, texts: list[str]
) -> None:
    {"bert": bert, "esm": esm}[family](tmp_path, f"{family.title()}Model")
    hidden, mask = hidden_of(tmp_path, texts)
    embedder = Embedder.from_pretrained(tmp_path)
    found = embedder.encode(texts)
    assert found.dtype == np.float32
    assert np.abs(found - masked_mean(hidden, mask).numpy()).max() <= 1e-5


@pytest.mark.parametrize(("family", "texts"), [("bert", TEXTS), ("esm", PROTEINS)])
def test_a_text_has_the_vector_that_it_has_alone(
    tmp_path: Path, family: str, texts: list[str]
) -> None:
    {"bert": bert, "esm": esm}[family](tmp_path, f"{family.title()}Model")
    embedder = Embedder.from_pretrained(tmp_path)
    alone = np.concatenate([embedder.encode([text]) for text in texts])
    assert np.abs(embedder.encode(texts) - alone).max() <= 2e-6
    backwards = embedder.encode(texts[::-1])[::-1]
    assert np.abs(backwards - alone).max() <= 2e-6


def test_the_size_of_batches_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bert(tmp_path, "BertModel")
    embedder = Embedder.from_pretrained(tmp_path)
    expected = embedder.encode(TEXTS)
    for tokens in (1, 23, 10**6):
        monkeypatch.setattr(text_model, "BATCH_TOKENS_ON_CPU", tokens)
        assert np.abs(embedder.encode(TEXTS) - expected).max() <= 2e-6


def test_a_hook_on_a_block_is_called(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    model, tokenizer = load(tmp_path)
    seen: list[object] = []
    model.encoder.layers[0].register_forward_hook(lambda *_: seen.append(1))  # type: ignore[union-attr]
    reader = embedding.TextModel(model, tokenizer)  # type: ignore[arg-type]
    Embedder(reader).encode(["a"])
    assert seen


def test_poolings_are_what_their_names_say(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    text = "A man rides a bicycle."
    (states,), _ = hidden_of(tmp_path, [text])

    def pooled(how: str) -> np.ndarray:  # type: ignore[type-arg]
        embedder = Embedder.from_pretrained(tmp_path, pooling=how)  # type: ignore[arg-type]
        return next(embedder.stream([Named("it", text)])).vectors

    for how, expected in (
        ("mean", states.mean(0)), ("inner", states[1:-1].mean(0)), ("cls", states[0]),
        ("none", states),
    ):  # fmt: skip
        assert np.abs(pooled(how) - expected.numpy()).max() <= 1e-5
    with pytest.raises(UserError, match="pooling 'max' is unknown; give mean, inner, cls, none"):
        pooled("max")


def test_normalized_vectors_have_length_one(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    found = Embedder.from_pretrained(tmp_path, normalize=True).encode(TEXTS)
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() <= 1e-6
    assert np.array_equal(embedding.normalized(np.zeros((2, 3), np.float32)), np.zeros((2, 3)))


def test_results_come_before_the_input_ends_and_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bert(tmp_path, "BertModel")
    monkeypatch.setattr(embedding, "WINDOW_TOKENS", 100)
    monkeypatch.setattr(embedding, "CHUNK", 7)
    taken: list[int] = []

    def endless() -> Iterator[Named]:
        number = 0
        while True:
            taken.append(number)
            yield Named(str(number), TEXTS[number % len(TEXTS)])
            number += 1

    stream = Embedder.from_pretrained(tmp_path).stream(endless())
    names = [next(stream).named.name for _ in range(40)]
    assert names == [str(number) for number in range(40)]
    assert len(taken) <= 40 + 100 // 3 + 7  # one window more than was asked for, at most


def test_a_long_text_is_refused_by_name_or_cut_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bert(tmp_path, "BertModel")
    long = "cat " * 60
    with pytest.raises(UserError, match=r"input '1' has \d+ tokens.*this model reads 48; shorten"):
        Embedder.from_pretrained(tmp_path).encode(["ok", long])
    embedder = Embedder.from_pretrained(tmp_path, truncate=True)
    assert embedder.encode(["ok", long]).shape == (2, 24)
    assert "1 of 2 texts were cut to 48 tokens; the first is '1'" in caplog.text
    (one,) = embedder.stream([Named("x", long)])
    ids = embedder.reader.tokenizer.encode(long)
    assert one.ids == [*ids[:47], ids[-1]]


def test_nothing_gives_nothing_and_one_text_is_no_list(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    embedder = Embedder.from_pretrained(tmp_path)
    assert embedder.encode([]).shape == (0, 24)
    with pytest.raises(UserError, match="expected a list of texts"):
        embedder.encode("text")
    with pytest.raises(UserError, match="precision 'int4' is unknown"):
        Embedder.from_pretrained(tmp_path, precision="int4")  # type: ignore[arg-type]


@pytest.mark.parametrize("family", ["bert", "esm"])
def test_bfloat16_gives_nearly_the_same(
    tmp_path: Path, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhead.fast.processor.cpu_multiplies_bfloat16", lambda: True)
    {"bert": bert, "esm": esm}[family](tmp_path, f"{family.title()}Model")
    texts = {"bert": TEXTS, "esm": PROTEINS}[family]
    exact = Embedder.from_pretrained(tmp_path, "cpu").encode(texts)
    short = Embedder.from_pretrained(tmp_path, "cpu", precision="bfloat16").encode(texts)
    assert 0 < np.abs(exact - short).max() <= 0.1


def test_int8_is_the_native_engines_and_near_float32(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    with pytest.raises(UserError, match="int8 is a precision of the native engine"):
        Embedder.from_pretrained(tmp_path, precision="int8", engine="readable")
    texts = ["a man reads", "a book"]
    short, full = (
        Embedder.from_pretrained(tmp_path, precision=precision, normalize=True).encode(texts)
        for precision in ("int8", "float32")
    )
    assert ((short * full).sum(axis=1) > 0.98).all()


def test_features_are_those_of_transformers(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    ours = pipeline("feature-extraction", model=tmp_path)
    expected = theirs("feature-extraction", tmp_path, "BertModel")
    assert np.abs(np.array(ours(TEXTS[0])) - np.array(expected(TEXTS[0]))).max() <= 1e-5
    for mine, other in zip(ours(TEXTS[:3]), expected(TEXTS[:3]), strict=True):
        assert np.abs(np.array(mine) - np.array(other)).max() <= 1e-5


def test_features_of_a_long_text_are_cut_on_request(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    features = pipeline("feature-extraction", model=tmp_path)
    with pytest.raises(UserError, match="truncation=True in a pipeline"):
        features("cat " * 60)
    assert len(features("cat " * 60, truncation=True)[0]) == 48


def test_a_text_is_most_like_itself(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    similarity = pipeline("sentence-similarity", model=tmp_path)
    scores = similarity(TEXTS[3], TEXTS[:6])
    assert max(scores) == scores[3] == pytest.approx(1, abs=1e-6)
    assert similarity(TEXTS[3], TEXTS[0]) == pytest.approx(scores[:1])  # a single text, not letters


def test_similarity_takes_the_truncation_that_its_error_advises(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    similarity, long = pipeline("sentence-similarity", model=tmp_path), "a man " * 60
    with pytest.raises(UserError, match=r"'a man .*truncation=True in a pipeline"):
        similarity(TEXTS[3], long)
    embedder = Embedder.from_pretrained(tmp_path, normalize=True, truncate=True)
    first, other = embedder.encode([TEXTS[3], long])
    found = similarity(TEXTS[3], long, truncation=True)
    assert found == pytest.approx([first @ other], abs=1e-6)


def test_lower_case_residues_have_the_vector_of_residues(tmp_path: Path) -> None:
    esm(tmp_path, "EsmModel")
    lower, upper = Embedder.from_pretrained(tmp_path).encode(["mktayiakqr", "MKTAYIAKQR"])
    assert np.array_equal(lower, upper)
