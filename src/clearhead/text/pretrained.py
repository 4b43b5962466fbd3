"""The tokenizer that a pretrained model was trained with, from the model's own files."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from clearhead.errors import UserError
from clearhead.text.esm_alphabet import EsmAlphabet
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.model_files import read_json
from clearhead.text.sentencepiece_pair import SentencePiecePair


class PretrainedTokenizer(Protocol):
    """What all of them can do; `signs` are ids by role: pad, unk, cls, sep, mask, bos, eos."""

    signs: dict[str, int]

    @property
    def vocab_size(self) -> int:
        """How many ids there are, signs included."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text, with the signs that its model wants around it."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids; signs are left out."""

    def piece(self, token_id: int) -> str:
        """How one id is written in the vocabulary."""

    def save(self, directory: str | Path) -> None:
        """Write the files that `load_tokenizer` and `transformers` read."""


LOADERS: Mapping[str, Callable[[Path], PretrainedTokenizer]] = {
    "bert": FastTokenizer.wordpiece,
    "gpt2": FastTokenizer.byte_level,
    "esm": EsmAlphabet.load,
    "marian": SentencePiecePair.load,
}


def load_tokenizer(directory: str | Path) -> PretrainedTokenizer:
    """The tokenizer of the model in a directory, which config.json names.

    Raises:
        UserError: no such model, or its tokenizer's files are missing or broken.
    """
    path = Path(directory) / "config.json"
    kind = str(read_json(path).get("model_type"))
    if kind not in LOADERS:
        raise UserError(
            f"{path} describes a {kind!r} model; tokenizers here are those of {', '.join(LOADERS)}"
        )
    return LOADERS[kind](Path(directory))
