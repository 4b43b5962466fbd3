"""Vectors: those of the readable model, whatever the company, the order and the window."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from clearhead import pipeline
from clearhead.blocks import padding_mask
from clearhead.data.grammar_pairs import GrammarPairs
from clearhead.errors import UserError
from clearhead.models.sentence_embedding import masked_mean
from clearhead.pipelines import embedding
from clearhead.pipelines.embedding import Embedder, Named
from clearhead.pipelines.encoding import FusedEncoding, PaddedEncoding
from clearhead.pretrained import load
from tests.pipelines.models import bert, esm, theirs

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
    assert isinstance(embedder.reader.encoding, FusedEncoding)
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


def test_the_padded_way_gives_the_same(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    embedder = Embedder.from_pretrained(tmp_path)
    fast = embedder.encode(TEXTS)
    embedder.reader.encoding = PaddedEncoding(embedder.reader.model)
    assert np.abs(embedder.encode(TEXTS) - fast).max() <= 1e-5


def test_somebody_who_watches_is_not_passed_by(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    model, tokenizer = load(tmp_path)
    seen: list[object] = []
    model.encoder.layers[0].register_forward_hook(lambda *_: seen.append(1))  # type: ignore[union-attr]
    reader = embedding.TextModel(model, tokenizer)  # type: ignore[arg-type]
    assert isinstance(reader.encoding, PaddedEncoding)
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


def test_normalised_vectors_have_length_one(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    found = Embedder.from_pretrained(tmp_path, normalise=True).encode(TEXTS)
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() <= 1e-6
    assert np.array_equal(embedding.normalised(np.zeros((2, 3), np.float32)), np.zeros((2, 3)))


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
    with pytest.raises(UserError, match="takes a list of texts"):
        embedder.encode("text")
    with pytest.raises(UserError, match="precision 'int4' is unknown"):
        Embedder.from_pretrained(tmp_path, precision="int4")  # type: ignore[arg-type]


@pytest.mark.parametrize(("precision", "bound"), [("bfloat16", 0.1), ("int8", 0.2), ("auto", 0.1)])
def test_fewer_bits_give_nearly_the_same(tmp_path: Path, precision: str, bound: float) -> None:
    bert(tmp_path, "BertModel")
    exact = Embedder.from_pretrained(tmp_path).encode(TEXTS)
    other = Embedder.from_pretrained(tmp_path, precision=precision).encode(TEXTS)  # type: ignore[arg-type]
    assert np.abs(exact - other).max() <= bound


def test_features_are_those_of_transformers(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    ours = pipeline("feature-extraction", model=tmp_path)
    expected = theirs("feature-extraction", tmp_path, "BertModel")
    assert np.abs(np.array(ours(TEXTS[0])) - np.array(expected(TEXTS[0]))).max() <= 1e-5
    for mine, other in zip(ours(TEXTS[:3]), expected(TEXTS[:3]), strict=True):
        assert np.abs(np.array(mine) - np.array(other)).max() <= 1e-5


def test_a_text_is_most_like_itself(tmp_path: Path) -> None:
    bert(tmp_path, "BertModel")
    scores = pipeline("sentence-similarity", model=tmp_path)(TEXTS[3], TEXTS[:6])
    assert max(scores) == scores[3] == pytest.approx(1, abs=1e-6)
