"""Text ↔ ids; knows no model."""

from clearhead.text.bpe_dropout import BpeDropout
from clearhead.text.pretrained import PretrainedTokenizer, load_tokenizer
from clearhead.text.spacing import unify_french_spaces
from clearhead.text.tokenizer import Tokenizer

__all__ = [
    "BpeDropout",
    "PretrainedTokenizer",
    "Tokenizer",
    "load_tokenizer",
    "unify_french_spaces",
]
