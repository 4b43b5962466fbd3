"""The built-in English–French grammar corpus: unlimited, seeded, with gold word alignments.

A phrase-structure grammar of our own draws a tree; English and French are both read
off it, so agreement, word order and alignment are right by derivation. One English
sentence has one French one: *you* is tu, *they* is ils, *I* and *we* are masculine,
the object *it* is le. A narrow no-break space (U+202F) stands before ? and !.

`generate` has a small lexicon of about 450 lemmas. `generate_wide` has about 3,400 entries
by theme, and productions for dates, times, money, measures, names and what is copied.
"""

from typing import TYPE_CHECKING

from clearhead.lazy import attributes_of

if TYPE_CHECKING:  # for editors and type checkers; the lexicon alone is imported by translators
    from .bitext import GrammarPair, word_spans, words
    from .productions import PRODUCTIONS
    from .splits import GRAMMARS, SPLITS, WIDE_SPLITS, generate, generate_wide
    from .syntax import PHENOMENA

__all__ = [
    "GRAMMARS", "PHENOMENA", "PRODUCTIONS", "SPLITS", "WIDE_SPLITS", "GrammarPair", "generate",
    "generate_wide", "word_spans", "words",
]  # fmt: skip

__getattr__ = attributes_of(
    __name__,
    {
        "clearhead.data.grammar.bitext": ["GrammarPair", "word_spans", "words"],
        "clearhead.data.grammar.productions": ["PRODUCTIONS"],
        "clearhead.data.grammar.splits": [
            "GRAMMARS", "SPLITS", "WIDE_SPLITS", "generate", "generate_wide",
        ],
        "clearhead.data.grammar.syntax": ["PHENOMENA"],
    },
)  # fmt: skip
