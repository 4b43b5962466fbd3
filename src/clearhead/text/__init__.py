"""Text to ids and back; depends on no model."""

from typing import TYPE_CHECKING

from clearhead.lazy import attributes_of

if TYPE_CHECKING:  # for editors and type checkers, which run nothing
    from clearhead.text.bpe_dropout import BpeDropout
    from clearhead.text.inputs import unify_french_spaces
    from clearhead.text.pretrained import PretrainedTokenizer, load_tokenizer
    from clearhead.text.sentencepiece_pair import BothLanguages, MarianLanguages
    from clearhead.text.tokenizer import Tokenizer

__all__ = [
    "BothLanguages", "BpeDropout", "MarianLanguages", "PretrainedTokenizer", "Tokenizer",
    "load_tokenizer", "unify_french_spaces",
]  # fmt: skip

__getattr__ = attributes_of(
    __name__,
    {
        "clearhead.text.bpe_dropout": ["BpeDropout"],
        "clearhead.text.inputs": ["unify_french_spaces"],
        "clearhead.text.pretrained": ["PretrainedTokenizer", "load_tokenizer"],
        "clearhead.text.sentencepiece_pair": ["BothLanguages", "MarianLanguages"],
        "clearhead.text.tokenizer": ["Tokenizer"],
    },
)
