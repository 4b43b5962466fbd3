"""Text in, text out."""

from clearhead.decoding import DecodingOptions
from clearhead.pipelines.factory import pipeline
from clearhead.translation.pipeline import TranslationPipeline
from clearhead.translation.result import Translation
from clearhead.translation.translator import Translator

__all__ = ["DecodingOptions", "Translation", "TranslationPipeline", "Translator", "pipeline"]
