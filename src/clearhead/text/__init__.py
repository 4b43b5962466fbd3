"""Text ↔ ids; knows no model."""

from clearhead.text.both_languages import BothLanguages, MarianLanguages
from clearhead.text.bpe_dropout import BpeDropout
from clearhead.text.pretrained import PretrainedTokenizer, load_tokenizer
from clearhead.text.spacing import unify_french_spaces
from clearhead.text.tokenizer import Tokenizer

__all__ = [
    "BothLanguages",
    "BpeDropout",
    "MarianLanguages",
    "PretrainedTokenizer",
    "Tokenizer",
    "load_tokenizer",
    "unify_french_spaces",
]
