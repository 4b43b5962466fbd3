"""A phrase of a grammar pair set off on both sides: quoted, in parentheses, bold, in capitals.

Which words of the translation belong to *very* in `This is <em>very</em> important.` is known
from the gold alignment alone, so other corpora cannot teach it.
"""

import re
from collections.abc import Iterable, Iterator
from random import Random

from .bitext import NARROW_NO_BREAK, GrammarPair, word_spans

RATE = 0.12  # the share of pairs that are marked, where this is possible
LONGEST = 4  # words of a marked phrase
_BOTH = (
    ("(", ")"), ("(", ")"), ("**", "**"), ("**", "**"), ("*", "*"), ("_", "_"),
    ("<b>", "</b>"), ("<em>", "</em>"), ("<i>", "</i>"), ("<strong>", "</strong>"),
    ('<a href="#">', "</a>"), ("[", "](https://example.com)"), ("[", "]"),
)  # fmt: skip
_END = re.compile(r"[.?!,]?(?:\s|$)")
_QUOTES = ('""', '""', "“”", "‘’", "''")
_FRENCH_QUOTES = ("«" + NARROW_NO_BREAK, NARROW_NO_BREAK + "»")


def marked(pairs: Iterable[GrammarPair], seed: int) -> Iterator[tuple[str, str]]:
    """The source and target of every pair, some with a phrase that is marked on both sides."""
    random = Random(f"marks {seed}")
    for pair in pairs:
        phrases = list(_phrases(pair)) if random.random() < RATE else []
        yield _marked(random, pair, *random.choice(phrases)) if phrases else pair[:2]


def _phrases(pair: GrammarPair) -> Iterator[tuple[slice, slice]]:
    """Phrases inside the sentence that are aligned as a whole, as slices of both texts."""
    source, target = word_spans(pair.source), word_spans(pair.target)
    for first in range(1, len(source) - 1):
        for last in range(first, min(first + LONGEST, len(source) - 1)):
            inside = {t for s, t in pair.alignment if first <= s <= last}
            if not inside or max(inside) - min(inside) >= len(inside):
                continue
            if all(first <= s <= last for s, t in pair.alignment if t in inside):
                english = _slice(source, first, last)
                french = _slice(target, min(inside), max(inside))
                if _is_whole(pair.source, english) and _is_whole(pair.target, french):
                    yield english, french


def _is_whole(text: str, at: slice) -> bool:
    """Whether no part of a longer word, number or address is cut off."""
    return text[at.start - 1] in " '" and _END.match(text, at.stop) is not None


def _slice(spans: list[tuple[int, int]], first: int, last: int) -> slice:
    return slice(spans[first][0], spans[last][1])


def _marked(random: Random, pair: GrammarPair, english: slice, french: slice) -> tuple[str, str]:
    kind, source, target = random.random(), pair.source[english], pair.target[french]
    if kind < 0.2:
        source, target = source.upper(), target.upper()
    else:
        marks = french_marks = random.choice(_BOTH)
        if kind < 0.5:
            quotes = random.choice(_QUOTES)
            marks, french_marks = (quotes[0], quotes[1]), _FRENCH_QUOTES
        source, target = source.join(marks), target.join(french_marks)
    return _replaced(pair.source, english, source), _replaced(pair.target, french, target)


def _replaced(text: str, at: slice, new: str) -> str:
    return text[: at.start] + new + text[at.stop :]
