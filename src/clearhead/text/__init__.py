"""Text ↔ ids; knows no model."""

from clearhead.text.bpe_dropout import BpeDropout
from clearhead.text.spacing import unify_french_spaces
from clearhead.text.tokenizer import Tokenizer

__all__ = ["BpeDropout", "Tokenizer", "unify_french_spaces"]
