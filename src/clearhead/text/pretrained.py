"""Loading the tokenizer of a pretrained model from the model's files."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from clearhead.errors import UserError
from clearhead.text.esm_alphabet import EsmAlphabet
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.model_files import read_json
from clearhead.text.sentencepiece_pair import SentencePiecePair


class PretrainedTokenizer(Protocol):
    """The interface of these tokenizers.

    Attributes:
        special_ids: the ids of the special tokens by role: pad, unk, cls, sep, mask, bos, eos.
    """

    special_ids: dict[str, int]

    @property
    def vocab_size(self) -> int:
        """The number of ids, special tokens included."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text, between the special tokens of its model."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids; special tokens are dropped."""

    def piece(self, token_id: int) -> str:
        """The token with this id, as the vocabulary spells it."""

    def save(self, directory: str | Path) -> None:
        """Write the files that `load_tokenizer` and `transformers` read."""


LOADERS: Mapping[str, Callable[[Path], PretrainedTokenizer]] = {
    "bert": FastTokenizer.wordpiece,
    "gpt2": FastTokenizer.byte_level,
    "esm": EsmAlphabet.load,
    "marian": SentencePiecePair.load,
}


def load_tokenizer(directory: str | Path) -> PretrainedTokenizer:
    """The tokenizer of the model in a directory; config.json has the kind of model.

    Raises:
        UserError: an unknown kind of model, or the tokenizer's files are missing or damaged.
    """
    path = Path(directory) / "config.json"
    kind = str(read_json(path).get("model_type"))
    if kind not in LOADERS:
        raise UserError(f"{path} describes a {kind!r} model; expected one of {', '.join(LOADERS)}")
    return LOADERS[kind](Path(directory))
