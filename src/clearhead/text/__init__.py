"""Text ↔ ids; knows no model."""

from clearhead.text.spacing import unify_french_spaces
from clearhead.text.tokenizer import Tokenizer

__all__ = ["Tokenizer", "unify_french_spaces"]
