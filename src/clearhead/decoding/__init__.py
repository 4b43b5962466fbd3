"""From hidden states to sentences: greedy and beam search. Deals in ids only."""

from clearhead.decoding.engine import Engine
from clearhead.decoding.hypothesis import Hypothesis
from clearhead.decoding.options import DecodingOptions
from clearhead.decoding.search import decode

__all__ = ["DecodingOptions", "Engine", "Hypothesis", "decode"]
