"""Nothing is lost between text and ids, whatever the text; training is a function of its lines."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.text import Tokenizer

LINES = [
    "The cat sat on the mat.", "Le chat s'est assis sur le tapis.",
    "Do you like the black cat?", "Aimes-tu le chat noir\u202f?",
    "“Yes!” he said: 'of course'.", "«\u00a0Oui\u00a0!\u00a0» dit-il\u00a0: bien sûr.",
    "It is 12:30 on 3 May 2024.", "Il est 12 h 30, le 3 mai 2024.",
] * 3  # fmt: skip
TOKENIZER = Tokenizer.train(LINES, 400)
nfc_text = st.text().map(lambda text: unicodedata.normalize("NFC", text))
markup = st.lists(
    st.sampled_from(
        ["<pad>", "<s>", "</s>", "<0x41>", "<0x00>", " ", "\n", "cat", "�", "é", "e\u0301"]
    )
).map("".join)


@given(nfc_text)
@example("")
@example(" ")
@example("  two before, two after  ")
@example("\t tab\r\nline\u2028separator\u2029\x00\x7f")
@example("« Oui ! » : 12:30 ; l’été, aujourd'hui\u202f?")
@example("\ufeffa mark first")
@example("👩‍👩‍👧 🇫🇷 é́ \u0301")
@example("日本語 العربية हिन्दी ไทย")
@example("x" * 5000)
def test_nfc_text_comes_back_as_it_was(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text
    assert all(0 <= i < TOKENIZER.vocab_size for i in ids)


@given(st.text(st.characters(codec=None)))  # lone surrogates included
def test_any_text_comes_back_in_nfc_with_broken_characters_replaced(text: str) -> None:
    sound = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == unicodedata.normalize("NFC", sound)


@given(st.one_of(markup, st.text()))
def test_signs_never_come_out_of_text(text: str) -> None:
    signs = {TOKENIZER.pad_id, TOKENIZER.bos_id, TOKENIZER.eos_id}
    assert not signs & set(TOKENIZER.encode(text))


@given(markup)
def test_text_that_looks_like_a_sign_is_text(text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u202f"], ids=["space", "U+00A0", "U+202F"])
def test_french_spacing_is_kept(space: str) -> None:
    text = "«_Vraiment_?_» Oui_! Voici_: l’un_; l'autre.".replace("_", space)
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


@given(st.lists(nfc_text, max_size=5))
def test_a_batch_is_its_texts_one_by_one(texts: list[str]) -> None:
    batch = TOKENIZER.encode_batch(texts)
    assert batch == [TOKENIZER.encode(text) for text in texts]
    assert TOKENIZER.decode_batch(batch) == texts


@given(st.lists(st.integers(0, TOKENIZER.vocab_size - 1)))
def test_any_ids_are_some_text(ids: list[int]) -> None:
    assert isinstance(TOKENIZER.decode(ids), str)


@given(nfc_text, st.lists(st.sampled_from([0, 1, 2]), max_size=4))
def test_signs_among_the_ids_say_nothing(text: str, signs: list[int]) -> None:
    assert TOKENIZER.decode([*signs, *TOKENIZER.encode(text), *signs]) == text


@given(st.text(st.sampled_from("aé ,.!?'cathe\u202f"), max_size=20))
def test_pieces_lie_in_the_text_in_order(text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    pieces = TOKENIZER.pieces(text)
    assert len(pieces) == len(TOKENIZER.encode(text))
    ends = [end for _, (_, end) in pieces]
    assert ends == sorted(ends) and ends[-1:] in ([], [len(text)])


def test_the_signs_are_the_first_ids_and_the_bytes_follow() -> None:
    assert (TOKENIZER.pad_id, TOKENIZER.bos_id, TOKENIZER.eos_id) == (0, 1, 2)
    assert [TOKENIZER.piece(i) for i in (0, 1, 2, 3, 258)] == [
        "<pad>", "<s>", "</s>", "<0x00>", "<0xFF>",
    ]  # fmt: skip


@pytest.mark.parametrize("wrong", [TOKENIZER.vocab_size, 58_100, -1])
def test_an_id_outside_the_vocabulary_has_no_piece(wrong: int) -> None:
    with pytest.raises(UserError, match=rf"token id {wrong} is outside the vocabulary of"):
        TOKENIZER.piece(wrong)


def test_one_vocabulary_serves_both_languages() -> None:
    tokenizer = Tokenizer.train(LINES * 5, 500)
    pieces = {tokenizer.piece(i) for i in range(tokenizer.vocab_size)}
    assert {" the", " cat", " le", " chat"} <= pieces


def test_a_word_is_one_piece_wherever_it_stands() -> None:
    tokenizer = Tokenizer.train(LINES * 5, 500)
    first, second = tokenizer.encode("cat"), tokenizer.encode("the cat")
    assert len(first) == 1 and second[-1:] == first


@pytest.mark.parametrize("vocab_size", [260, 300, 350, 400])
def test_the_vocabulary_is_no_larger_than_asked(vocab_size: int) -> None:
    assert Tokenizer.train(LINES, vocab_size).vocab_size <= vocab_size


@pytest.mark.parametrize("lines", [[], [""], ["a"], ["\ud800"], ["\n"] * 3], ids=repr)
def test_a_tiny_corpus_gives_fewer_pieces_and_still_loses_nothing(lines: list[str]) -> None:
    tokenizer = Tokenizer.train(lines, 8000)
    assert 259 <= tokenizer.vocab_size < 300
    text = "Ça marche\u202f: « été »."
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("vocab_size", [0, -5, 259])
def test_a_vocabulary_without_room_for_the_bytes_is_refused(vocab_size: int) -> None:
    with pytest.raises(UserError, match=rf"vocab_size={vocab_size} is too small"):
        Tokenizer.train(LINES, vocab_size)


def test_a_generator_trains_the_same_vocabulary_as_its_list(tmp_path: Path) -> None:
    Tokenizer.train(LINES, 400).save(tmp_path / "list")
    Tokenizer.train((line for line in LINES), 400).save(tmp_path / "generator")
    assert content(tmp_path / "list") == content(tmp_path / "generator")


TRAIN_WITH_TIES = """
import sys
from clearhead.text import Tokenizer
rare = ["".join(map(chr, range(start, start + 9))) for start in range(0x4E00, 0x5200, 9)]
Tokenizer.train([*rare, *["le chat et la souris"] * 4], 900).save(sys.argv[1])
"""


def test_training_is_the_same_in_every_process(tmp_path: Path) -> None:
    for number, parallel in enumerate(("false", "true")):
        environment = os.environ | {
            "TOKENIZERS_PARALLELISM": parallel, "PYTHONHASHSEED": str(number),
        }  # fmt: skip
        command = [sys.executable, "-c", TRAIN_WITH_TIES, str(tmp_path / str(number))]
        subprocess.run(command, env=environment, check=True)
    assert content(tmp_path / "0") == content(tmp_path / "1")


def content(directory: Path) -> bytes:
    return (directory / "tokenizer.json").read_bytes()


def test_a_saved_tokenizer_is_the_same_tokenizer(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    loaded.save(tmp_path / "again")
    assert content(tmp_path) == content(tmp_path / "again")
    assert loaded.vocab_size == TOKENIZER.vocab_size
    for line in [*LINES, "日本 \ud800"]:
        assert loaded.encode(line) == TOKENIZER.encode(line)


@pytest.mark.parametrize("junk", [b"", b"{}", b"not json", b"\xff\xfe", b'{"version": "1.0"}'])
def test_a_file_that_is_no_tokenizer_is_named(junk: bytes, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(junk)
    with pytest.raises(UserError) as caught:
        Tokenizer.load(tmp_path)
    message = str(caught.value)
    assert "tokenizer.json is not a tokenizer file" in message and "\n" not in message


def test_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*tokenizer\.json: No such file"):
        Tokenizer.load(tmp_path)


def test_a_foreign_tokenizer_is_refused(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path)
    foreign = json.loads(content(tmp_path))
    vocab = foreign["model"]["vocab"]
    vocab["<pad>"], vocab["<s>"] = vocab["<s>"], vocab["<pad>"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(foreign), encoding="utf-8")
    with pytest.raises(UserError, match=r"does not begin with <pad>, <s>, </s>"):
        Tokenizer.load(tmp_path)


@given(st.lists(st.sampled_from(list("l'’ o5É\u00a0\n")), max_size=12).map("".join))
def test_apostrophes_and_spaces_come_back_in_any_order(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_a_word_has_the_same_pieces_after_an_elision_as_after_a_space() -> None:
    elided, spaced = TOKENIZER.encode("l'chat noir"), TOKENIZER.encode("l chat noir")
    chat = TOKENIZER.encode("chat noir")
    assert elided[-len(chat) :] == spaced[-len(chat) :] == chat


def test_what_is_no_text_is_refused() -> None:
    wrong: Any
    for wrong in (None, ["ab"], 7):
        with pytest.raises(UserError, match="encode takes one text"):
            TOKENIZER.encode(wrong)
    with pytest.raises(UserError, match="encode_batch a list of texts"):
        TOKENIZER.encode_batch("hello")
    with pytest.raises(UserError, match=r"give text\.splitlines"):
        Tokenizer.train("hello world", 300)
