"""Text in, text out."""

from clearhead.decoding import DecodingOptions
from clearhead.translation.pipeline import TranslationPipeline, pipeline
from clearhead.translation.result import Translation
from clearhead.translation.translator import Translator

__all__ = ["DecodingOptions", "Translation", "TranslationPipeline", "Translator", "pipeline"]
