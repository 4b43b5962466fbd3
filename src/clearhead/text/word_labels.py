"""From labels of words to labels of pieces, and back.

A word may be several pieces. Its first piece carries the label, the others none (Devlin et al.
2018, section 5.3): each word then counts once, however rare and cut up it is.
"""

from collections.abc import Sequence
from typing import TypeVar

Label = TypeVar("Label")


def first_pieces(owners: Sequence[int | None]) -> list[int]:
    """Where each word's first piece stands, for the words that have one.

    `owners` is what a tokenizer's `encode_words` says: of which word each piece is.
    """
    return [
        place
        for place, word in enumerate(owners)
        if word is not None and (place == 0 or owners[place - 1] != word)
    ]


def spread(labels: Sequence[Label], owners: Sequence[int | None], nothing: Label) -> list[Label]:
    """A label for every piece: the word's on its first piece, `nothing` on all others."""
    spread_out = [nothing] * len(owners)
    for place in first_pieces(owners):
        word = owners[place]
        assert word is not None
        spread_out[place] = labels[word]
    return spread_out


def gather(labels: Sequence[Label], owners: Sequence[int | None], words: int) -> list[Label | None]:
    """A label for every word: that of its first piece; None for a word without a piece.

    Such a word is one that was cut off, or one of characters that the tokenizer throws away.
    """
    found: list[Label | None] = [None] * words
    for place in first_pieces(owners):
        word = owners[place]
        if word is not None and place < len(labels):
            found[word] = labels[place]
    return found
