"""The tokenizers of pretrained models: the ids and the strings of `transformers`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing

from clearhead.data.corpus import GrammarPairs
from clearhead.errors import UserError
from clearhead.text import load_tokenizer
from clearhead.text.fast_tokenizer import BERT_SPECIAL, FastTokenizer

SENTENCES = [pair.source for pair in GrammarPairs("train", 300)]
# What trips tokenizers: spaces, accents, signs of other scripts, emoji, nothing at all.
HARD = ["", " ", "A man  rides\ta bicycle. ", "Où est l'été ? « là »", "naïve café\n\nÀ bientôt",
        "東京 is Tokyo", "1,024 × 3.5 = ½", "👩‍👩‍👧 ok", "don't [MASK] it", "x" * 300,
        "a\u00a0b\u202fc", "UPPER lower"]  # fmt: skip
TEXTS = SENTENCES[:50] + HARD
PROTEINS = ["MKTAYIAKQR", "MKT<mask>YIA", "mkt", "MKJJZZ*X--.", "M K T  A", "", "<cls>MK<eos>",
            "MKOUB\nAAA", "J O U J", "<null_1>"]  # fmt: skip
ALPHABET = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>",
            "<mask>"]  # fmt: skip


def write_config(directory: Path, kind: str) -> None:
    (directory / "config.json").write_text(json.dumps({"model_type": kind}), encoding="utf-8")


def settings(directory: Path, **values: Any) -> None:
    text = json.dumps(values)
    (directory / "tokenizer_config.json").write_text(text, encoding="utf-8")


def wordpiece(directory: Path) -> None:
    """A vocabulary as BERT's, in vocab.txt."""
    engine = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    engine.normalizer = normalizers.BertNormalizer()
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=400, special_tokens=list(BERT_SPECIAL.values()), show_progress=False
    )
    engine.train_from_iterator(SENTENCES, trainer)
    vocabulary = engine.get_vocab()
    lines = sorted(vocabulary, key=vocabulary.__getitem__)
    (directory / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_config(directory, "bert")


def byte_level(directory: Path) -> None:
    """A vocabulary and merges as GPT-2's."""
    engine = tokenizers.Tokenizer(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    engine.train_from_iterator(SENTENCES, trainer)
    engine.model.save(str(directory))
    write_config(directory, "gpt2")


def alphabet(directory: Path) -> None:
    (directory / "vocab.txt").write_text("\n".join(ALPHABET), encoding="utf-8")
    write_config(directory, "esm")


@pytest.mark.parametrize("lower", [True, False])
def test_wordpieces_are_theirs(tmp_path: Path, lower: bool) -> None:
    wordpiece(tmp_path)
    settings(tmp_path, do_lower_case=lower, tokenizer_class="BertTokenizer")
    ours, theirs = load_tokenizer(tmp_path), transformers.BertTokenizer.from_pretrained(tmp_path)
    assert ours.encode_batch(TEXTS) == theirs(TEXTS)["input_ids"]
    for ids in ours.encode_batch(TEXTS):
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
    assert ours.special_ids["mask"] in ours.encode("don't [MASK] it")


def test_pairs_are_theirs(tmp_path: Path) -> None:
    wordpiece(tmp_path)
    ours, theirs = load_tokenizer(tmp_path), transformers.BertTokenizer.from_pretrained(tmp_path)
    assert isinstance(ours, FastTokenizer)
    expected = theirs("A man.", "He rides a bicycle.")
    found = ours.encode_pair("A man.", "He rides a bicycle.")
    assert found == (expected["input_ids"], expected["token_type_ids"])


@pytest.mark.parametrize(
    "template",
    [
        {"single": "[CLS] $A [SEP]"},  # a pair has no special tokens
        {"single": "$A", "pair": "[CLS] $A [SEP] $B [SEP]"},  # segment 0 throughout
    ],
)
def test_a_pair_written_otherwise_is_refused(tmp_path: Path, template: dict[str, str]) -> None:
    wordpiece(tmp_path)
    ours = load_tokenizer(tmp_path)
    assert isinstance(ours, FastTokenizer)
    special = [(name, ours._engine.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    ours._engine.post_processor = TemplateProcessing(**template, special_tokens=special)
    with pytest.raises(UserError, match="does not write a pair as"):
        ours.encode_pair("A man.", "He rides a bicycle.")


@pytest.mark.parametrize("spaced", [True, False])
def test_byte_pairs_are_theirs(tmp_path: Path, spaced: bool) -> None:
    byte_level(tmp_path)
    settings(tmp_path, add_prefix_space=spaced, tokenizer_class="GPT2Tokenizer")
    ours, theirs = load_tokenizer(tmp_path), transformers.GPT2Tokenizer.from_pretrained(tmp_path)
    assert ours.encode_batch(TEXTS) == theirs(TEXTS)["input_ids"]
    for text, ids in zip(TEXTS, ours.encode_batch(TEXTS), strict=True):
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
        assert ours.decode(ids).removeprefix(" " if spaced else "") in (text, text.lstrip())
    assert ours.encode("a<|endoftext|>")[-1] == ours.special_ids["eos"]


def test_residues_are_theirs(tmp_path: Path) -> None:
    alphabet(tmp_path)
    ours, theirs = load_tokenizer(tmp_path), transformers.EsmTokenizer.from_pretrained(tmp_path)
    assert ours.encode_batch(PROTEINS) == theirs(PROTEINS)["input_ids"]
    assert ours.decode(ours.encode("MKT<mask>YIA")) == "MKTYIA"
    for role in ("cls", "pad", "eos", "unk", "mask"):
        assert ours.special_ids[role] == getattr(theirs, f"{role}_token_id")


WRITERS: dict[str, Callable[[Path], None]] = {
    "bert": wordpiece, "gpt2": byte_level, "esm": alphabet
}  # fmt: skip


@pytest.mark.parametrize("kind", WRITERS)
def test_what_is_saved_reads_the_same_here_and_there(tmp_path: Path, kind: str) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    WRITERS[kind](tmp_path / "a")
    before = load_tokenizer(tmp_path / "a")
    before.save(tmp_path / "b")
    write_config(tmp_path / "b", kind)
    after = load_tokenizer(tmp_path / "b")
    texts = PROTEINS if kind == "esm" else TEXTS
    assert after.encode_batch(texts) == before.encode_batch(texts)
    assert after.special_ids == before.special_ids and after.vocab_size == before.vocab_size
    reader: Any = transformers.EsmTokenizer if kind == "esm" else transformers.AutoTokenizer
    theirs = reader.from_pretrained(tmp_path / "b")
    assert theirs(texts)["input_ids"] == before.encode_batch(texts)


def test_a_text_is_neither_cut_nor_filled_up_whatever_the_file_asks(tmp_path: Path) -> None:
    wordpiece(tmp_path)
    load_tokenizer(tmp_path).save(tmp_path)
    engine = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    engine.enable_truncation(8)
    engine.enable_padding(length=8)
    engine.save(str(tmp_path / "tokenizer.json"))
    short, long = load_tokenizer(tmp_path).encode_batch(["a", "a man " * 20])
    assert len(short) == 3 and len(long) > 40


def refused(directory: Path) -> str:
    with pytest.raises(UserError) as caught:
        load_tokenizer(directory)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("kind", "file"),
    [("bert", "vocab.txt"), ("gpt2", "merges.txt"), ("gpt2", "vocab.json"), ("esm", "vocab.txt")],
)
def test_a_missing_file_is_named(tmp_path: Path, kind: str, file: str) -> None:
    WRITERS[kind](tmp_path)
    (tmp_path / file).unlink()
    assert file in refused(tmp_path)


@pytest.mark.parametrize(("kind", "other"), [("bert", "esm"), ("esm", "bert")])
def test_a_vocabulary_of_another_kind_is_refused(tmp_path: Path, kind: str, other: str) -> None:
    WRITERS[other](tmp_path)
    write_config(tmp_path, kind)
    assert "belongs to another" in refused(tmp_path)


def test_merges_of_another_vocabulary_are_refused(tmp_path: Path) -> None:
    byte_level(tmp_path)
    (tmp_path / "merges.txt").write_text("#version: 0.2\nqx zw\n", encoding="utf-8")
    assert "do not belong together" in refused(tmp_path)


def test_an_unknown_kind_of_model_is_named_with_those_we_have(tmp_path: Path) -> None:
    write_config(tmp_path, "t5")
    assert "'t5'" in refused(tmp_path) and "bert, gpt2, esm, marian" in refused(tmp_path)


def test_a_broken_tokenizer_file_is_said_to_be(tmp_path: Path) -> None:
    write_config(tmp_path, "bert")
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert "is not a tokenizer file" in refused(tmp_path)


@pytest.mark.parametrize("kind", WRITERS)
def test_an_id_outside_the_vocabulary_is_refused(tmp_path: Path, kind: str) -> None:
    WRITERS[kind](tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.piece(tokenizer.vocab_size - 1)
    for number in (-1, tokenizer.vocab_size):
        with pytest.raises(UserError, match=f"token id {number} is outside"):
            tokenizer.piece(number)


def test_the_segments_of_a_pair_are_saved_for_transformers(tmp_path: Path) -> None:
    wordpiece(tmp_path)
    ours = load_tokenizer(tmp_path)
    assert isinstance(ours, FastTokenizer)
    ours.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)("A man.", "He rides a bicycle.")
    found = ours.encode_pair("A man.", "He rides a bicycle.")
    assert found == (theirs["input_ids"], theirs["token_type_ids"])
