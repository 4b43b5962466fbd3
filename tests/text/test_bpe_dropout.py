"""BPE dropout spells the same text in other pieces, by chance that a seed fixes."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.text import BpeDropout, Tokenizer

LINES = [
    "The uncle of the baker is generous.", "L'oncle du boulanger est généreux.",
    "The baker doesn't like his uncle.", "Le boulanger n'aime pas son oncle.",
    "Is this apple yours?", "Est-ce que cette pomme est à toi\u00a0?",
] * 4  # fmt: skip
TOKENIZER = Tokenizer.train(LINES, 420)
UNDROPPED = BpeDropout(TOKENIZER, LINES, 0.0)
WORDS = sorted({word for line in LINES for word in line.split()})
sentences = st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join)


@pytest.mark.parametrize("encoder", [BpeDropout(TOKENIZER, LINES, rate) for rate in (0.1, 0.7)])
@given(st.lists(st.one_of(st.text(), sentences)))
def test_whatever_the_cuts_the_text_is_the_same(encoder: BpeDropout, texts: list[str]) -> None:
    ids = encoder.encode_batch(texts)
    usual = TOKENIZER.decode_batch(TOKENIZER.encode_batch(texts))
    assert TOKENIZER.decode_batch(ids) == usual


@given(st.lists(st.one_of(st.text(), sentences)))
def test_with_nothing_dropped_it_is_the_tokenizer(texts: list[str]) -> None:
    assert UNDROPPED.encode_batch(texts) == TOKENIZER.encode_batch(texts)


def test_with_everything_dropped_words_are_letters() -> None:
    (ids,) = BpeDropout(TOKENIZER, LINES, 1.0).encode_batch(["generous uncle"])
    assert [TOKENIZER.piece(i) for i in ids] == list(" generous uncle")


def test_the_same_seed_gives_the_same_cuts_and_another_seed_others() -> None:
    first, second, other = (
        BpeDropout(TOKENIZER, LINES, 0.2, seed).encode_batch(LINES) for seed in (3, 3, 4)
    )
    assert first == second != other


def test_an_unknown_word_leaves_its_sentence_in_the_usual_pieces() -> None:
    text = "The unheardof uncle."
    assert BpeDropout(TOKENIZER, LINES, 0.9).encode_batch([text]) == [TOKENIZER.encode(text)]


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_merges_are_left_out_at_the_rate_asked_for(rate: float) -> None:
    """` ab` becomes one piece by two merges, the second possible only after the first."""
    lines = ["ab"] * 3
    tokenizer = Tokenizer.train(lines, 267)
    assert len(tokenizer.encode("ab")) == 1
    dropped = Counter[bool]()
    for seed in range(200):
        rows = BpeDropout(tokenizer, lines, rate, seed).encode_batch(["ab"])
        dropped[len(rows[0]) > 1] += 1
    expected = 1 - (1 - rate) ** 2
    assert dropped[True] / 200 == pytest.approx(expected, abs=0.12)
