"""What a translator asks of a tokenizer, and how Marian's pair of SentencePiece models answers."""

from collections.abc import Sequence
from typing import Protocol

from clearhead.errors import UserError
from clearhead.text.sentencepiece_pair import SentencePiecePair


class BothLanguages(Protocol):
    """Source text to ids, ids to target text, and back; without signs at either end."""

    @property
    def vocab_size(self) -> int:
        """How many ids the source has, signs included."""

    @property
    def eos_id(self) -> int:
        """The end sign."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text in the source's language."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts in the source's language."""

    def encode_target(self, text: str) -> list[int]:
        """Ids of a text in the target's language."""

    def decode(self, ids: Sequence[int]) -> str:
        """The target's text of these ids; signs are left out."""

    def decode_source(self, ids: Sequence[int]) -> str:
        """The source's text of these ids; signs are left out."""

    def piece(self, token_id: int) -> str:
        """How one id is written, a space before it included."""


class MarianLanguages:
    """A `SentencePiecePair` as a translator uses it.

    Raises:
        UserError: the two languages have a vocabulary each; a piece then has no one name.
    """

    def __init__(self, pair: SentencePiecePair) -> None:
        if pair.separate:
            raise UserError(
                "this marian model has a vocabulary for each language, and a translator here "
                "reads and writes one; give a model whose tokenizer has separate_vocabs=false"
            )
        self.pair = pair

    @property
    def vocab_size(self) -> int:
        """As `BothLanguages.vocab_size`."""
        return self.pair.vocab_size

    @property
    def eos_id(self) -> int:
        """As `BothLanguages.eos_id`."""
        return self.pair.signs["eos"]

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
        """As `BothLanguages.decode_source`: pieces are spelled alike in both languages."""
        return self.pair.decode(ids)

    def piece(self, token_id: int) -> str:
        """As `BothLanguages.piece`."""
        return self.pair.piece(token_id).replace("\u2581", " ")
