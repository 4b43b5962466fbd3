"""Translated sentences are joined into the translation of a text, and its words are linked."""

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clearhead.decoding import DecodingOptions, Hypothesis
from clearhead.text.word_labels import word_links, word_numbers
from clearhead.translation.result import Piece, WordCounter, join
from tests.translation.tiny import parts, translator

HYPOTHESIS = Hypothesis([5], -1.0, -1.0, True)


def joined(text: str, *pieces: tuple[tuple[int, int], str]) -> str:
    sentences = [[Piece.of(span, words, HYPOTHESIS, None)] for span, words in pieces]
    return join(text, sentences, 1)[0].text


def test_the_space_between_two_sentences_is_kept() -> None:
    assert joined("A. \u2003B.", ((0, 2), "Un."), ((4, 6), "Deux.")) == "Un. \u2003Deux."


def test_a_sentence_that_becomes_nothing_leaves_no_space_at_the_ends() -> None:
    assert joined("?\x85B.", ((0, 1), ""), ((2, 4), "Deux.")) == "Deux."
    assert joined("A. ?", ((0, 2), "Un."), ((3, 4), " ")) == "Un."


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
def test_words_before_a_position(text: str, start: int, expected: int) -> None:
    counter = WordCounter()
    counter.add(text[:start])
    assert counter.first == expected


@given(st.lists(st.text(" \t\u2003ab", max_size=4), max_size=9))
def test_words_counted_part_by_part_are_those_of_the_whole(parts: list[str]) -> None:
    counter = WordCounter()
    for part in parts:
        counter.add(part)
    assert counter.words == len("".join(parts).split())


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


def test_there_is_no_alignment_unless_it_is_requested() -> None:
    ((best,), (blank,)) = translator().translate_detailed(["cat", ""])
    assert best.alignment is None
    assert blank.alignment is None
