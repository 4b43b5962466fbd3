"""ESM-2's alphabet: each residue is a letter, and each letter a token."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.text.model_files import read_lines, special_tokens_of
from clearhead.text.word_labels import Place

SPECIAL_TOKENS = {"cls": "<cls>", "pad": "<pad>", "eos": "<eos>", "unk": "<unk>", "mask": "<mask>"}


def upper_case(text: str) -> str:
    """The residues in upper case, as FASTA is read; names such as ``<mask>`` as they stand."""
    return re.sub(r"<\w+>|[a-z]+", lambda m: m[0] if m[0][0] == "<" else m[0].upper(), text)


class EsmAlphabet:
    """Proteins to ids, between <cls> and <eos>, and back; a text may contain ``<mask>``.

    As in ESM, letters are upper case, white space is ignored, and a run of characters that are
    not in the alphabet is one <unk>.

    Raises:
        UserError: the vocabulary lacks a special token.
    """

    def __init__(self, tokens: Sequence[str], special: dict[str, str]) -> None:
        self.tokens = list(tokens)
        self._ids = {token: number for number, token in enumerate(self.tokens)}
        if lost := [
            token
            for role, token in special.items()
            if role in SPECIAL_TOKENS and token not in self._ids
        ]:
            raise UserError(
                f"the alphabet lacks {', '.join(lost)}; it belongs to another kind of model"
            )
        self.special_ids = {
            role: self._ids[token] for role, token in special.items() if token in self._ids
        }
        longest_first = sorted(self.tokens, key=len, reverse=True)
        self._known = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")")

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read vocab.txt, one token a line."""
        tokens = [line.strip() for line in read_lines(directory / "vocab.txt")]
        return cls(tokens, special_tokens_of(directory, SPECIAL_TOKENS))

    @property
    def vocab_size(self) -> int:
        """The number of ids, special tokens included."""
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """Ids of a protein, between its special tokens."""
        pieces = [
            piece
            for number, part in enumerate(self._known.split(text))
            for piece in ([part] if number % 2 else part.split())  # odd: in the alphabet
        ]
        inner = [self._ids.get(piece, self.special_ids["unk"]) for piece in pieces]
        return [self.special_ids["cls"], *inner, self.special_ids["eos"]]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many proteins."""
        return [self.encode(text) for text in texts]

    def encode_places(self, text: str) -> tuple[list[int], list[Place | None]]:
        """Ids of a protein, and each token's position in the text: each residue is a word."""
        piece = rf"{self._known.pattern}|\S+?(?={self._known.pattern}|\s|$)"
        places = [Place(*m.span(), word) for word, m in enumerate(re.finditer(piece, text))]
        return self.encode(text), [None, *places, None]

    def encode_words(self, words: Sequence[str]) -> tuple[list[int], list[int | None]]:
        """Ids of residues, one for each even where it is <unk>, and the residue of each id."""
        inner = [self._ids.get(word.strip(), self.special_ids["unk"]) for word in words]
        ids = [self.special_ids["cls"], *inner, self.special_ids["eos"]]
        return ids, [None, *range(len(words)), None]

    def decode(self, ids: Sequence[int]) -> str:
        """The protein of these ids; special tokens are dropped."""
        special = set(self.special_ids.values())
        return "".join(self.piece(number) for number in ids if number not in special)

    def piece(self, token_id: int) -> str:
        """The token with this id.

        Raises:
            UserError: the alphabet has no such id.
        """
        if not 0 <= token_id < self.vocab_size:
            raise UserError(
                f"token id {token_id} is outside the alphabet of {self.vocab_size} tokens; "
                "use the tokenizer that belongs to this model"
            )
        return self.tokens[token_id]

    def save(self, directory: str | Path) -> None:
        """Write vocab.txt."""
        atomic_write(Path(directory) / "vocab.txt", "\n".join(self.tokens))
