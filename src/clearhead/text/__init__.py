"""Text ↔ ids; knows no model."""

from clearhead.text.tokenizer import Tokenizer

__all__ = ["Tokenizer"]
