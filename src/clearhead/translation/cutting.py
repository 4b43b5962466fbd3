"""A sentence too long for the model is cut where it hurts least."""

import re
from collections.abc import Callable

from clearhead.errors import UserError
from clearhead.translation.sentences import Span

# Better places first: after clause punctuation, between words, anywhere.
_PLACES = (re.compile(r"(?<=[,;:–—])\s+"), re.compile(r"\s+"))


def cut(text: str, span: Span, fits: Callable[[str], bool]) -> list[Span]:
    """Halve the span until every part fits; what lies between the parts is whitespace.

    Raises:
        UserError: not even one character fits.
    """
    start, end = span
    if fits(text[start:end]):
        return [span]
    if end - start == 1:
        raise UserError(
            f"the model has too few positions for the single character {text[start:end]!r}; "
            "use a model with a larger src_seq_len"
        )
    left, right = _halves(text[start:end])
    return [
        part
        for first, last in (left, right)
        for part in cut(text, (start + first, start + last), fits)
    ]


def _halves(text: str) -> tuple[Span, Span]:
    """Two non-empty parts of a stripped text, cut near the middle at the best kind of place."""
    middle = len(text) / 2
    for place in _PLACES:
        # A part of less than a quarter would be a fragment without meaning.
        gaps = [g for g in place.finditer(text) if abs(g.start() - middle) <= middle / 2]
        if gaps:
            gap = min(gaps, key=lambda g: abs(g.start() - middle))
            return (0, gap.start()), (gap.end(), len(text))
    left, right = text[: len(text) // 2].rstrip(), text[len(text) // 2 :].lstrip()
    return (0, len(left)), (len(text) - len(right), len(text))
