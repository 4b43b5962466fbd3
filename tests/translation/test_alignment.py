import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clearhead.decoding import DecodingOptions
from clearhead.translation.alignment import first_word, word_links, word_numbers
from tests.translation.tiny import parts, translator

TOKENIZER = parts()[1]
WORDS = st.text("abcé €", max_size=30)


@given(WORDS)
def test_tokens_count_through_the_words_of_the_text(text: str) -> None:
    numbers = word_numbers(TOKENIZER.decode, TOKENIZER.encode(text))
    assert numbers == sorted(numbers)
    if text.strip():
        assert set(numbers) == set(range(len(text.split())))


def test_every_target_word_is_linked_to_the_source_word_looked_at_most() -> None:
    source, target = TOKENIZER.encode("the cat zz"), TOKENIZER.encode("le chat qq")
    source_words, target_words = (
        word_numbers(TOKENIZER.decode, source),
        word_numbers(TOKENIZER.decode, target),
    )
    attention = torch.full((len(target), len(source) + 1), 0.01)
    attention[:, -1] = 9.0  # the end sign is no word
    for row, word in enumerate(target_words):
        for column, other in enumerate(source_words):
            attention[row, column] += float(other == 2 - word)
    assert word_links(TOKENIZER, source, target, attention) == [(2, 0), (1, 1), (0, 2)]


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [("", 0, 0), ("a b", 2, 1), ("a bc", 3, 1), ("a  b ", 5, 2), (" a", 1, 0)],
)
def test_words_before_a_place(text: str, start: int, expected: int) -> None:
    assert first_word(text, start) == expected


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["the", "cat", "x" * 50, "I", "table."]), max_size=12))
@example(["table.", "the"])  # this model answers with spaces only
def test_links_stay_within_the_text_and_name_every_target_word(words: list[str]) -> None:
    text = " ".join(words)
    options = DecodingOptions(beam_size=1, max_length=5)
    ((best,),) = translator().translate_detailed([text], options, alignment_layer=-1)
    assert best.alignment is not None
    assert all(0 <= s < len(text.split()) for s, _ in best.alignment)
    assert {t for _, t in best.alignment} == set(range(len(best.text.split())))


def test_nobody_gets_an_alignment_who_did_not_ask() -> None:
    ((best,), (blank,)) = translator().translate_detailed(["cat", ""])
    assert best.alignment is None
    assert blank.alignment is None
