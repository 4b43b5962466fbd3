"""Loading the tokenizer of a pretrained model from the model's files."""

from collections.abc import Callable, Mapping
from pathlib import Path

from clearhead.errors import UserError
from clearhead.text.esm_alphabet import EsmAlphabet
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.model_files import read_json
from clearhead.text.sentencepiece_pair import SentencePiecePair

# Each has `encode`, `encode_batch`, `decode`, `piece`, `save`, `vocab_size` and `special_ids`: the
# ids of the special tokens by role (pad, unk, cls, sep, mask, bos, eos).
PretrainedTokenizer = FastTokenizer | EsmAlphabet | SentencePiecePair
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
