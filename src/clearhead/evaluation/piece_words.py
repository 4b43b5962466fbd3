"""From the pieces of the tokenizer to the words of an alignment."""

from collections.abc import Sequence

import torch
from torch import Tensor

from clearhead.data.grammar import word_spans
from clearhead.text import Tokenizer

Span = tuple[int, int]  # (start, end) characters


def word_of_pieces(pieces: Sequence[Span], words: Sequence[Span]) -> list[int]:
    """The word that each piece belongs to: that with which it shares most characters.

    Of two words with the same share it is the later: where the tokenizer puts a space
    behind an elision, the piece " a" of "n'a" is said to begin at the apostrophe. A
    piece that shares none is a space, and belongs to the word after it (behind the
    last word, to the last). With no words at all there is nothing to belong to, and
    the list is empty.
    """
    return [_word_of(piece, words) for piece in pieces] if words else []


def membership(tokenizer: Tokenizer, text: str) -> Tensor:
    """Which piece is part of which word of `word_spans`: one 1 in every row.

    Shape: -> (pieces, words), float32
    """
    pieces = [span for _, span in tokenizer.pieces(text)]
    words = word_spans(text)
    matrix = torch.zeros(len(pieces), len(words))
    for piece, word in enumerate(word_of_pieces(pieces, words)):
        matrix[piece, word] = 1.0
    return matrix


def _word_of(piece: Span, words: Sequence[Span]) -> int:
    shared = [min(piece[1], end) - max(piece[0], start) for start, end in words]
    best = max(range(len(words)), key=lambda word: (shared[word], word))
    if shared[best] > 0:
        return best
    return next((i for i, (_, end) in enumerate(words) if end > piece[0]), len(words) - 1)
