"""The interface of a translator's tokenizer, and the adapter of Marian's tokenizer to it."""

from collections.abc import Sequence
from typing import Protocol

from clearhead.errors import UserError
from clearhead.text.sentencepiece_pair import SentencePiecePair


class BothLanguages(Protocol):
    """Source text to ids and ids to target text, without special tokens at the ends."""

    @property
    def vocab_size(self) -> int:
        """The number of ids of the source, special tokens included."""

    @property
    def eos_id(self) -> int:
        """The id of the EOS token."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text in the source language."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts in the source language."""

    def encode_target(self, text: str) -> list[int]:
        """Ids of a text in the target language."""

    def decode(self, ids: Sequence[int]) -> str:
        """The target text of these ids; special tokens are dropped."""

    def decode_source(self, ids: Sequence[int]) -> str:
        """The source text of these ids; special tokens are dropped."""

    def piece(self, token_id: int) -> str:
        """The token with this id, including a space before it."""


class MarianLanguages:
    """A `SentencePiecePair` as a translator uses it.

    Raises:
        UserError: each language has its own vocabulary, so that an id has two meanings.
    """

    def __init__(self, pair: SentencePiecePair) -> None:
        if pair.separate:
            raise UserError(
                "this Marian model has a vocabulary for each language, and a translator here "
                "needs one for both; give a model whose tokenizer has separate_vocabs=false"
            )
        self.pair = pair

    @property
    def vocab_size(self) -> int:
        """As `BothLanguages.vocab_size`."""
        return self.pair.vocab_size

    @property
    def eos_id(self) -> int:
        """As `BothLanguages.eos_id`."""
        return self.pair.special_ids["eos"]

    def encode(self, text: str) -> list[int]:
        """As `BothLanguages.encode`."""
        return self.pair.encode(text)[:-1]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """As `BothLanguages.encode_batch`."""
        return [self.encode(text) for text in texts]

    def encode_target(self, text: str) -> list[int]:
        """As `BothLanguages.encode_target`."""
        return self.pair.encode_target(text)[:-1]

    def decode(self, ids: Sequence[int]) -> str:
        """As `BothLanguages.decode`."""
        return self.pair.decode(ids)

    def decode_source(self, ids: Sequence[int]) -> str:
        """As `BothLanguages.decode_source`: both languages share the pieces."""
        return self.pair.decode(ids)

    def piece(self, token_id: int) -> str:
        """As `BothLanguages.piece`."""
        return self.pair.piece(token_id).replace("\u2581", " ")
