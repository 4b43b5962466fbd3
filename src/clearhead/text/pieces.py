"""What every tokenizer asks of the engine of `tokenizers` in the same words."""

from collections.abc import Sequence
from typing import NamedTuple

import tokenizers

from clearhead.errors import UserError


class Place(NamedTuple):
    """Where a token stands in its text, text[start:end], and in which of its words, from 0."""

    start: int
    end: int
    word: int


def ids_of(engine: tokenizers.Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Ids of many texts at once (in parallel, in compiled code)."""
    sound = [without_lone_surrogates(text) for text in texts]
    return [encoding.ids for encoding in engine.encode_batch_fast(sound)]


def piece_of(engine: tokenizers.Tokenizer, token_id: int) -> str:
    """How one id is written in the vocabulary.

    Raises:
        UserError: the vocabulary has no such id.
    """
    piece = engine.id_to_token(token_id) if token_id >= 0 else None
    if piece is None:
        size = engine.get_vocab_size()
        raise UserError(
            f"token id {token_id} is outside the vocabulary of {size} tokens "
            f"(0 to {size - 1}); use the tokenizer that belongs to this model"
        )
    return piece


def without_lone_surrogates(text: str) -> str:
    """Halves of UTF-16 pairs, which UTF-8 cannot write, become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
