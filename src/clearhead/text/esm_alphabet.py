"""ESM-2's alphabet: one letter, one residue, one token."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.text.model_files import read_lines, signs_of
from clearhead.text.pieces import Place

SIGNS = {"cls": "<cls>", "pad": "<pad>", "eos": "<eos>", "unk": "<unk>", "mask": "<mask>"}


class EsmAlphabet:
    """Proteins to ids, between <cls> and <eos>, and back; ``<mask>`` may stand in a text.

    As in ESM, letters are upper case, white space does not count, and a run of characters
    that are not in the alphabet is one <unk>.

    Raises:
        UserError: the vocabulary lacks a sign.
    """

    def __init__(self, tokens: Sequence[str], signs: dict[str, str]) -> None:
        self.tokens = list(tokens)
        self._ids = {token: number for number, token in enumerate(self.tokens)}
        if lost := [
            sign for role, sign in signs.items() if role in SIGNS and sign not in self._ids
        ]:
            raise UserError(
                f"the alphabet lacks {', '.join(lost)}; it belongs to another kind of model"
            )
        self.signs = {role: self._ids[sign] for role, sign in signs.items() if sign in self._ids}
        longest_first = sorted(self.tokens, key=len, reverse=True)
        self._known = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")")

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read vocab.txt, one token a line."""
        tokens = [line.strip() for line in read_lines(directory / "vocab.txt")]
        return cls(tokens, signs_of(directory, SIGNS))

    @property
    def vocab_size(self) -> int:
        """How many ids there are, signs included."""
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """Ids of a protein, between its signs."""
        pieces = [
            piece
            for number, part in enumerate(self._known.split(text))
            for piece in ([part] if number % 2 else part.split())  # odd: what is in the alphabet
        ]
        inner = [self._ids.get(piece, self.signs["unk"]) for piece in pieces]
        return [self.signs["cls"], *inner, self.signs["eos"]]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many proteins."""
        return [self.encode(text) for text in texts]

    def encode_places(self, text: str) -> tuple[list[int], list[Place | None]]:
        """Ids of a protein, and where in the text each stands: every residue is a word."""
        spans = [
            (start, start + len(piece))
            for found in re.finditer(
                rf"{self._known.pattern}|\S+?(?={self._known.pattern}|\s|$)", text
            )
            for start, piece in [(found.start(), found[0])]
        ]
        places = [Place(start, end, word) for word, (start, end) in enumerate(spans)]
        return self.encode(text), [None, *places, None]

    def encode_words(self, words: Sequence[str]) -> tuple[list[int], list[int | None]]:
        """Ids of residues, each one id even where it is <unk>, and of which residue each is."""
        inner = [self._ids.get(word.strip(), self.signs["unk"]) for word in words]
        ids = [self.signs["cls"], *inner, self.signs["eos"]]
        return ids, [None, *range(len(words)), None]

    def decode(self, ids: Sequence[int]) -> str:
        """The protein of these ids; signs are left out."""
        signs = set(self.signs.values())
        return "".join(self.piece(number) for number in ids if number not in signs)

    def piece(self, token_id: int) -> str:
        """How one id is written."""
        if not 0 <= token_id < self.vocab_size:
            raise UserError(
                f"token id {token_id} is outside the alphabet of {self.vocab_size} tokens; "
                "use the tokenizer that belongs to this model"
            )
        return self.tokens[token_id]

    def save(self, directory: str | Path) -> None:
        """Write vocab.txt."""
        atomic_write(Path(directory) / "vocab.txt", "\n".join(self.tokens))
