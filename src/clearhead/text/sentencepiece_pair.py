"""Marian's tokenizer: a SentencePiece model for each language, and one vocabulary for both.

`BothLanguages` are the tokenizers of a translator; `MarianLanguages` adapts Marian's to them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.text.inputs import without_lone_surrogates
from clearhead.text.model_files import read_json, special_tokens_of
from clearhead.text.tokenizer import Tokenizer

SPECIAL_TOKENS = {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}
_LANGUAGE = re.compile(r">>[^<]*<<")  # the target language of a multilingual model: ">>fr<< Hello."
_BEGINNING = re.compile(r"\s*(>>[^<\s]{1,32}<<)")


class SentencePiecePair:
    """Source text to ids that end with the EOS token, and target ids to text.

    Args:
        source, target: the content of the two SentencePiece models.
        vocab: the ids of the pieces.
        target_vocab: the target's own vocabulary, for models that have two.
        special: the special tokens by role.

    Raises:
        UserError: the vocabulary lacks a special token.
    """

    def __init__(
        self,
        source: bytes,
        target: bytes,
        vocab: Mapping[str, int],
        target_vocab: Mapping[str, int] | None = None,
        special: Mapping[str, str] = SPECIAL_TOKENS,
    ) -> None:
        self._models = {"source.spm": source, "target.spm": target}
        self._reader, self._writer = _processor(source), _processor(target)
        self._vocab, self._target_vocab = dict(vocab), target_vocab and dict(target_vocab)
        if lost := [special[role] for role in SPECIAL_TOKENS if special[role] not in vocab]:
            raise UserError(f"vocab.json lacks {', '.join(lost)}; it belongs to another model")
        self.special_ids = {role: vocab[token] for role, token in special.items() if token in vocab}
        self._unknown = special["unk"]
        self._pieces = {number: piece for piece, number in (self._target_vocab or vocab).items()}

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read source.spm, target.spm and vocab.json (target_vocab.json where there is one)."""
        apart = read_json(directory / "tokenizer_config.json", {}).get("separate_vocabs", False)
        return cls(
            _read_bytes(directory / "source.spm"),
            _read_bytes(directory / "target.spm"),
            read_json(directory / "vocab.json"),
            read_json(directory / "target_vocab.json") if apart else None,
            special_tokens_of(directory, SPECIAL_TOKENS),
        )

    @property
    def separate(self) -> bool:
        """Whether each language has a vocabulary of its own."""
        return self._target_vocab is not None

    @property
    def vocab_size(self) -> int:
        """The number of ids of the source, special tokens included."""
        return max(self._vocab.values()) + 1

    def encode(self, text: str) -> list[int]:
        """Ids of a text in the source language, with the EOS token."""
        code = _LANGUAGE.match(text)
        rest = text[code.end() :] if code else text
        pieces = self._reader.encode(without_lone_surrogates(rest), out_type=str)
        return self._ids([*([code[0]] if code else []), *pieces], self._vocab)

    def encode_target(self, text: str) -> list[int]:
        """Ids of a text in the target language, with the EOS token."""
        pieces = self._writer.encode(without_lone_surrogates(text), out_type=str)
        return self._ids(pieces, self._target_vocab or self._vocab)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts in the source language."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The target text of these ids; special tokens are dropped."""
        special = set(self.special_ids.values())
        pieces = [self._pieces[number] for number in ids if number not in special]
        return str(self._writer.decode_pieces(pieces)).replace("\u2581", " ").strip()

    def piece(self, token_id: int) -> str:
        """The target's token with this id.

        Raises:
            UserError: the vocabulary has no such id.
        """
        if token_id not in self._pieces:
            raise UserError(
                f"token id {token_id} is outside the vocabulary of {len(self._pieces)} tokens; "
                "use the tokenizer that belongs to this model"
            )
        return self._pieces[token_id]

    def save(self, directory: str | Path) -> None:
        """Write the two models and the vocabulary."""
        for name, content in self._models.items():
            atomic_write(Path(directory) / name, content)
        for name, vocab in (("vocab", self._vocab), ("target_vocab", self._target_vocab)):
            if vocab:
                text = json.dumps(vocab, indent=2, ensure_ascii=False) + "\n"
                atomic_write(Path(directory) / f"{name}.json", text)

    def _ids(self, pieces: Sequence[str], vocab: Mapping[str, int]) -> list[int]:
        inner = [vocab.get(piece, vocab[self._unknown]) for piece in pieces]
        return [*inner, self.special_ids["eos"]]


def _processor(model: bytes) -> Any:
    try:
        sentencepiece = import_module("sentencepiece")  # optional
    except ImportError as error:
        raise UserError(
            "Marian's tokenizer needs the package sentencepiece: pip install sentencepiece"
        ) from error
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError as error:
        reason = str(error).split("\n")[0]
        raise UserError(
            f"source.spm or target.spm is not a SentencePiece model ({reason}); "
            "copy the model again"
        ) from error


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}; a Marian model has source.spm, target.spm and "
            "vocab.json beside its weights"
        ) from error


class MarianLanguages:
    """A `SentencePiecePair` with the interface of `Tokenizer`: no special tokens at the ends.

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
        """The number of ids, special tokens included."""
        return self.pair.vocab_size

    @property
    def eos_id(self) -> int:
        """The id of the EOS token."""
        return self.pair.special_ids["eos"]

    def encode(self, text: str) -> list[int]:
        """Ids of a text in the source language."""
        return self.pair.encode(text)[:-1]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts in the source language."""
        return [self.encode(text) for text in texts]

    def encode_target(self, text: str) -> list[int]:
        """Ids of a text in the target language."""
        return self.pair.encode_target(text)[:-1]

    def language(self, text: str) -> str:
        """The target language that a text begins with (>>fr<<), if the model has it, else ""."""
        code = _BEGINNING.match(text)
        return code[1] if code and code[1] in self.pair._vocab else ""

    def decode(self, ids: Sequence[int]) -> str:
        """The target text of these ids; special tokens are dropped."""
        return self.pair.decode(ids)

    def decode_source(self, ids: Sequence[int]) -> str:
        """The source text of these ids: both languages share the pieces."""
        return self.pair.decode(ids)

    def piece(self, token_id: int) -> str:
        """The token with this id, including a space before it."""
        return self.pair.piece(token_id).replace("\u2581", " ")


# Source text to ids and ids to target text, without special tokens at the ends.
BothLanguages = Tokenizer | MarianLanguages


def pieces_of(tokenizer: BothLanguages) -> list[str]:
    """The whole vocabulary, in the order of the ids."""
    return [tokenizer.piece(token) for token in range(tokenizer.vocab_size)]
