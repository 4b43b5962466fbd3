"""Text in, text out."""

from typing import TYPE_CHECKING

from clearhead.lazy import attributes_of

if TYPE_CHECKING:  # for editors and type checkers, which run nothing
    from clearhead.decoding.engine import DecodingOptions
    from clearhead.pipelines.factory import pipeline
    from clearhead.pipelines.translation import TranslationPipeline
    from clearhead.translation.documents import join_lines
    from clearhead.translation.result import Translation
    from clearhead.translation.translator import Translator

__all__ = [
    "DecodingOptions", "Translation", "TranslationPipeline", "Translator", "join_lines", "pipeline",
]  # fmt: skip

__getattr__ = attributes_of(
    __name__,
    {
        "clearhead.decoding.engine": ["DecodingOptions"],
        "clearhead.pipelines.factory": ["pipeline"],
        "clearhead.pipelines.translation": ["TranslationPipeline"],
        "clearhead.translation.documents": ["join_lines"],
        "clearhead.translation.result": ["Translation"],
        "clearhead.translation.translator": ["Translator"],
    },
)
