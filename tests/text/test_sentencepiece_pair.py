"""Marian's pair of SentencePiece models: the ids and the strings of `transformers`."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import transformers

from clearhead.data.corpus import GrammarPairs
from clearhead.errors import UserError
from clearhead.text import MarianLanguages, load_tokenizer
from clearhead.text.sentencepiece_pair import SentencePiecePair
from clearhead.translation.sources import Reader

PAIRS = list(GrammarPairs("train", 400))
HARD = ["", " ", "A  man\trides.", "Où est l'été ? « là »", "東京", ">>fr<< A man.",
        ">>de<< A man.", "½ 👩‍👧", "a\u00a0b"]  # fmt: skip


def model_of(lines: list[str]) -> bytes:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=written, vocab_size=200, minloglevel=2,
        hard_vocab_limit=False, num_threads=1, character_coverage=1.0,
    )  # fmt: skip
    return written.getvalue()


def pieces(model: bytes) -> list[str]:
    engine = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [engine.id_to_piece(i) for i in range(3, engine.get_piece_size())]


MODELS = {
    "source": model_of([p.source for p in PAIRS]),
    "target": model_of([p.target for p in PAIRS]),
}


@pytest.fixture(params=[False, True], ids=["joint", "separate"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    source, target = (pieces(MODELS[side]) for side in ("source", "target"))
    both = dict.fromkeys(["</s>", "<unk>", *source, *([] if request.param else target), ">>fr<<"])
    write(tmp_path, "vocab.json", [*both, "<pad>"])
    if request.param:
        write(tmp_path, "target_vocab.json", ["</s>", "<unk>", *target, "<pad>"])
    for side, model in MODELS.items():
        (tmp_path / f"{side}.spm").write_bytes(model)
    settings = {"separate_vocabs": request.param, "source_lang": "en", "target_lang": "fr"}
    for name, values in (("tokenizer_config", settings), ("config", {"model_type": "marian"})):
        (tmp_path / f"{name}.json").write_text(json.dumps(values), encoding="utf-8")
    return tmp_path


def write(directory: Path, name: str, tokens: list[str]) -> None:
    numbers = {token: number for number, token in enumerate(tokens)}
    (directory / name).write_text(json.dumps(numbers), encoding="utf-8")


def both(directory: Path) -> tuple[SentencePiecePair, Any]:
    ours = load_tokenizer(directory)
    assert isinstance(ours, SentencePiecePair)
    return ours, transformers.MarianTokenizer.from_pretrained(directory)


def test_ids_and_strings_are_theirs(directory: Path) -> None:
    ours, theirs = both(directory)
    sources = [pair.source for pair in PAIRS[:60]] + HARD
    assert ours.encode_batch(sources) == theirs(sources)["input_ids"]
    targets = [pair.target for pair in PAIRS[:60]] + HARD[:5]
    expected = theirs(text_target=targets)["input_ids"]
    assert [ours.encode_target(text) for text in targets] == expected
    for ids in expected:
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
    plain = [text.replace("\u202f", " ") for text in targets[:60]]  # SentencePiece has one space
    assert [ours.decode(ids) for ids in expected[:60]] == plain


def test_signs_are_theirs(directory: Path) -> None:
    ours, theirs = both(directory)
    for role in ("eos", "unk", "pad"):
        assert ours.special_ids[role] == getattr(theirs, f"{role}_token_id")


def test_what_is_saved_reads_the_same(directory: Path, tmp_path_factory: Any) -> None:
    ours, _ = both(directory)
    other = tmp_path_factory.mktemp("saved")
    ours.save(other)
    for name in ("config.json", "tokenizer_config.json"):
        (other / name).write_bytes((directory / name).read_bytes())
    again, theirs = both(other)
    text = PAIRS[0].source
    assert again.encode(text) == ours.encode(text) == theirs(text)["input_ids"]


@pytest.mark.parametrize("name", ["source.spm", "target.spm", "vocab.json"])
def test_a_missing_file_is_named(directory: Path, name: str) -> None:
    (directory / name).unlink()
    with pytest.raises(UserError, match=name):
        load_tokenizer(directory)


def test_a_broken_model_is_said_to_be(directory: Path) -> None:
    (directory / "source.spm").write_bytes(b"no model")
    with pytest.raises(UserError, match="is not a SentencePiece model"):
        load_tokenizer(directory)


def test_a_vocabulary_without_signs_is_refused(directory: Path) -> None:
    write(directory, "vocab.json", ["a", "b"])
    with pytest.raises(UserError, match="lacks </s>, <unk>, <pad>"):
        load_tokenizer(directory)


@pytest.mark.parametrize("directory", [False], ids=["joint"], indirect=True)
@pytest.mark.parametrize("start", ["", "  "])
def test_every_sentence_is_translated_into_the_language_that_the_text_names(
    directory: Path, start: str
) -> None:
    languages = MarianLanguages(both(directory)[0])
    text = f"{start}>>fr<< A man rides. He sees a dog!\n{'A man rides a bicycle and ' * 12}"
    sources = Reader(languages, 60).read([text])
    assert len(sources) > 4 and all(len(source.ids) <= 60 for source in sources)
    assert {languages.piece(source.ids[0]) for source in sources} == {">>fr<<"}
    unknown = Reader(languages, 60).read([text.replace("fr", "xx")])  # to this model, text
    assert [languages.piece(source.ids[0]) == "<unk>" for source in unknown[:2]] == [True, False]
