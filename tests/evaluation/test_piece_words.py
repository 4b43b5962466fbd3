import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.grammar import SPLITS, word_spans
from clearhead.evaluation.piece_words import membership, word_of_pieces
from tests.evaluation.tiny import pairs, tokenizer

TEXTS = st.one_of(st.text(max_size=30), st.text("ab' ?!-é\u202f«\u0301", max_size=20))


@given(TEXTS)
def test_every_piece_of_any_text_belongs_to_exactly_one_word(text: str) -> None:
    matrix = membership(tokenizer(), text)
    words = word_spans(text)
    assert matrix.shape == (len(tokenizer().encode(text)), len(words))
    assert not words or matrix.sum(dim=1).tolist() == [1.0] * matrix.shape[0]


@given(TEXTS)
def test_words_come_in_the_order_of_their_pieces(text: str) -> None:
    pieces = [span for _, span in tokenizer().pieces(text)]
    numbers = word_of_pieces(pieces, word_spans(text))
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("split", SPLITS)
def test_every_word_of_the_grammar_has_a_piece(split: str) -> None:
    for pair in pairs(split, 40):
        for text in (pair.source, pair.target):
            assert membership(tokenizer(), text).any(dim=0).all(), text


def test_a_piece_goes_where_most_of_it_lies_and_a_space_to_the_word_after_it() -> None:
    words = [(0, 4), (4, 6), (8, 10)]  # "Paul's  xx"
    pieces = [(0, 2), (2, 5), (5, 6), (6, 7), (7, 10), (10, 11)]
    assert word_of_pieces(pieces, words) == [0, 0, 1, 2, 2, 2]


def test_a_piece_between_two_words_with_equal_shares_goes_to_the_later() -> None:
    assert word_of_pieces([(0, 2), (1, 3)], [(0, 2), (2, 3)]) == [0, 1]


def test_the_pieces_of_a_word_spell_it() -> None:
    text = pairs()[0].target
    numbers = word_of_pieces([span for _, span in tokenizer().pieces(text)], word_spans(text))
    ids = tokenizer().encode(text)
    for word, (start, end) in enumerate(word_spans(text)):
        own = [i for i, number in zip(ids, numbers, strict=True) if number == word]
        assert tokenizer().decode(own).strip() == text[start:end]
