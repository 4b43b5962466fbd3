"""Labels of words survive the way to pieces and back."""

from pathlib import Path

import transformers
from hypothesis import given
from hypothesis import strategies as st

from clearhead.text.esm_alphabet import SPECIAL_TOKENS, EsmAlphabet
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.word_labels import first_pieces, gather, spread

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hel", "##lo", "wor", "##ld", "!",
              "don", "'", "t"]  # fmt: skip
WORDS = ["hello", "world!", "don't", "never", "\u200b"]


def tokenizer(folder: Path) -> FastTokenizer:
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    return FastTokenizer.wordpiece(folder)


def test_the_first_piece_of_a_word_carries_its_label_and_signs_carry_none(tmp_path: Path) -> None:
    _, owners = tokenizer(tmp_path).encode_words(WORDS)
    assert owners == [None, 0, 0, 1, 1, 1, 2, 2, 2, 3, None]
    assert spread([1, 2, 3, 4, 5], owners, -1) == [-1, 1, -1, 2, -1, -1, 3, -1, -1, 4, -1]


def test_a_word_without_a_piece_has_no_prediction(tmp_path: Path) -> None:
    _, owners = tokenizer(tmp_path).encode_words(WORDS)
    labels = spread(["a", "b", "c", "d", "e"], owners, "-")
    assert gather(labels, owners, 5) == ["a", "b", "c", "d", None]
    assert gather(labels[:4], owners, 5) == ["a", "b", None, None, None]  # cut after four pieces


def test_words_become_the_pieces_that_transformers_cuts(tmp_path: Path) -> None:
    ours = tokenizer(tmp_path)
    theirs = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"), do_lower_case=True)
    found = theirs(WORDS, is_split_into_words=True)
    ids, owners = ours.encode_words(WORDS)
    assert (ids, owners) == (found["input_ids"], found.word_ids())


@given(st.lists(st.integers(0, 4), max_size=9))
def test_spread_then_gathered_is_what_it_was(sizes: list[int]) -> None:
    owners = [None, *(word for word, size in enumerate(sizes) for _ in range(size)), None]
    labels = list(range(10, 10 + len(sizes)))
    found = gather(spread(labels, owners, -1), owners, len(sizes))
    assert found == [label if size else None for label, size in zip(labels, sizes, strict=True)]
    assert len(first_pieces(owners)) == sum(size > 0 for size in sizes)


def test_every_residue_is_one_token_even_where_nobody_knows_it() -> None:
    tokens = ["<cls>", "<pad>", "<eos>", "<unk>", "L", "A", "G", "<mask>"]
    alphabet = EsmAlphabet(tokens, SPECIAL_TOKENS)
    ids, owners = alphabet.encode_words(list("LJJAG"))
    assert ids == [0, 4, 3, 3, 5, 6, 2] and owners == [None, 0, 1, 2, 3, 4, None]
    assert alphabet.encode_words(list("LAG"))[0] == alphabet.encode("LAG")
