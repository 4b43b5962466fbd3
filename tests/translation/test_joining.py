"""What the translations of a text's sentences become together."""

from clearhead.decoding import Hypothesis
from clearhead.translation.joining import Piece, join

HYPOTHESIS = Hypothesis([5], -1.0, -1.0, True)


def joined(text: str, *pieces: tuple[tuple[int, int], str]) -> str:
    sentences = [[Piece.of(span, words, HYPOTHESIS, None)] for span, words in pieces]
    return join(text, sentences, 1)[0].text


def test_the_space_between_two_sentences_is_kept() -> None:
    assert joined("A. \u2003B.", ((0, 2), "Un."), ((4, 6), "Deux.")) == "Un. \u2003Deux."


def test_a_sentence_that_becomes_nothing_leaves_no_space_at_the_ends() -> None:
    assert joined("?\x85B.", ((0, 1), ""), ((2, 4), "Deux.")) == "Deux."
    assert joined("A. ?", ((0, 2), "Un."), ((3, 4), " ")) == "Un."
