"""The built-in English–French grammar corpus: unlimited, seeded, with gold word alignments.

A phrase-structure grammar of our own draws a tree; English and French are both read
off it, so agreement, word order and alignment are right by derivation. One English
sentence has one French one: *you* is tu, *they* is ils, *I* and *we* are masculine,
the object *it* is le. A narrow no-break space (U+202F) stands before ? and !.
"""

from .features import PHENOMENA
from .segmentation import word_spans, words
from .sentences import GrammarPair
from .splits import SPLITS, generate

__all__ = ["PHENOMENA", "SPLITS", "GrammarPair", "generate", "word_spans", "words"]
