"""From source ids to translations: greedy search, beam search and sampling. Ids only, no text.

torch is imported when a name that needs it is first used.
"""

from typing import TYPE_CHECKING

from clearhead.lazy import attributes_of

if TYPE_CHECKING:  # for editors and type checkers, which run nothing
    from clearhead.decoding.engine import DecodingOptions, Engine, Hypothesis
    from clearhead.decoding.native import NativeEngine
    from clearhead.decoding.readable import ReadableEngine, decode

__all__ = ["DecodingOptions", "Engine", "Hypothesis", "NativeEngine", "ReadableEngine", "decode"]

__getattr__ = attributes_of(
    __name__,
    {
        "clearhead.decoding.engine": ["DecodingOptions", "Engine", "Hypothesis"],
        "clearhead.decoding.native": ["NativeEngine"],
        "clearhead.decoding.readable": ["ReadableEngine", "decode"],
    },
)
