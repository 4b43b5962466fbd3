"""Tokens and the words that they belong to: positions in a text, and labels of words."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

Label = TypeVar("Label")


class Place(NamedTuple):
    """The position of a token in its text, text[start:end], and the index of its word."""

    start: int
    end: int
    word: int


def first_pieces(owners: Sequence[int | None]) -> list[int]:
    """The index of each word's first token, for the words that have one.

    Args:
        owners: the index of each token's word, from a tokenizer's `encode_words`.
    """
    return [
        index
        for index, word in enumerate(owners)
        if word is not None and (index == 0 or owners[index - 1] != word)
    ]


def spread(labels: Sequence[Label], owners: Sequence[int | None], nothing: Label) -> list[Label]:
    """Labels of words to labels of tokens: the word's on its first token, `nothing` on all others.

    So each word counts once, into however many tokens it is split (Devlin et al. 2018,
    section 5.3).
    """
    spread_out = [nothing] * len(owners)
    for index in first_pieces(owners):
        word = owners[index]
        assert word is not None
        spread_out[index] = labels[word]
    return spread_out


def gather(labels: Sequence[Label], owners: Sequence[int | None], words: int) -> list[Label | None]:
    """Labels of tokens to labels of words: that of the first token; None for a word without tokens.

    Such a word was cut off, or has only characters that the tokenizer drops.
    """
    found: list[Label | None] = [None] * words
    for index in first_pieces(owners):
        word = owners[index]
        if word is not None and index < len(labels):
            found[word] = labels[index]
    return found
