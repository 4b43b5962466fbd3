"""Tokens and the words that they belong to: positions in a text, and labels of words.

The word alignment of a translation is read off the cross-attention. Words are what `str.split`
gives; units are smaller: words without the punctuation marks at them.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from clearhead.text import BothLanguages

Label = TypeVar("Label")
Weights = NDArray[np.floating]
# (source word, target word), counted from 0 among what str.split() gives.
Link = tuple[int, int]
_UNIT = re.compile(r"aujourd['’]hui|\w+(?:[-.,:/@]\w+)*(?:['’](?=\w))?|[^\w\s]")
_PUNCTUATION = set(".,;:!?…'’\"“”«»()[]-–—")
WEAK = 0.1  # a weight below it is no alignment
UNSURE = 0.2  # a row belongs to columns with a weight larger by this: articles often do not
TINY = 1e-9


class Place(NamedTuple):
    """The position of a token in its text, text[start:end], and the index of its word."""

    start: int
    end: int
    word: int


def first_pieces(owners: Sequence[int | None]) -> list[int]:
    """The index of each word's first token, for the words that have one.

    Args:
        owners: the index of each token's word, from a tokenizer's `encode_words`.
    """
    return [
        index
        for index, word in enumerate(owners)
        if word is not None and (index == 0 or owners[index - 1] != word)
    ]


def spread(labels: Sequence[Label], owners: Sequence[int | None], nothing: Label) -> list[Label]:
    """Labels of words to labels of tokens: the word's on its first token, `nothing` on all others.

    So each word counts once, into however many tokens it is split (Devlin et al. 2018,
    section 5.3).
    """
    spread_out = [nothing] * len(owners)
    for index in first_pieces(owners):
        word = owners[index]
        assert word is not None
        spread_out[index] = labels[word]
    return spread_out


def gather(labels: Sequence[Label], owners: Sequence[int | None], words: int) -> list[Label | None]:
    """Labels of tokens to labels of words: that of the first token; None for a word without tokens.

    Such a word was cut off, or has only characters that the tokenizer drops.
    """
    found: list[Label | None] = [None] * words
    for index in first_pieces(owners):
        word = owners[index]
        if word is not None and index < len(labels):
            found[word] = labels[index]
    return found


def word_numbers(decode: Callable[[Sequence[int]], str], ids: Sequence[int]) -> list[int]:
    """The number of the word that each token belongs to."""
    beginnings = [decode(ids[: end + 1]) for end in range(len(ids))]
    return [max(0, len(text.split()) - 1) for text in beginnings]


def word_links(
    tokenizer: "BothLanguages", source: Sequence[int], target: Sequence[int], attention: Weights
) -> list[Link]:
    """For every target word the source word that its tokens attend to most.

    Shape: attention: (target tokens, source tokens and EOS token).
    """
    if not (tokenizer.decode_source(source).split() and tokenizer.decode(target).split()):
        return []  # nothing but white space: there are no words to link
    columns = word_numbers(tokenizer.decode_source, source)
    words = _summed(attention, word_numbers(tokenizer.decode, target), columns)
    return [(int(best), word) for word, best in enumerate(words.argmax(axis=1))]


def _summed(attention: Weights, rows: Sequence[int], columns: Sequence[int]) -> Weights:
    """The weights between words, of which these are the numbers of the tokens."""
    found = np.zeros((max(rows) + 1, max(columns) + 1))
    np.add.at(found, np.ix_(rows, columns), attention[: len(rows), : len(columns)])
    return found


def units(text: str) -> list[tuple[int, int]]:
    """Start and end of words and punctuation marks; an elided article (l', d') is a word."""
    return [unit.span() for unit in _UNIT.finditer(text)]


def overlapping(text: str, start: int, stop: int) -> tuple[int, int]:
    """The first unit that is at least in part between two positions, and the one after the last."""
    found = units(text)
    first = sum(end <= start for _, end in found)
    return first, max(first, sum(begin < stop for begin, _ in found)) if start < stop else first


def edges(source: str, target: str) -> tuple[set[int], set[int]]:
    """Gaps between the target's units where a copy of the source's mark may open, and may close.

    Punctuation is outside, unless the source begins or ends with it; no article is elided (l') at
    the end.
    """

    def at(written: str, read: str) -> bool:
        return written not in _PUNCTUATION or (read in _PUNCTUATION and written not in "'’")

    found = units(target)
    opening = {gap for gap, (start, _) in enumerate(found) if at(target[start], source[:1])}
    closing = {gap for gap, (_, end) in enumerate(found, 1) if at(target[end - 1], source[-1:])}
    return opening, closing


def unit_weights(
    tokenizer: "BothLanguages",
    source: tuple[str, Sequence[int]],
    target: tuple[str, Sequence[int]],
    attention: Weights,
) -> Weights:
    """How much each unit of a translation attends to each unit of its source; rows sum to 1."""
    (read, read_ids), (written, written_ids) = source, target
    found = np.zeros((len(units(written)), len(units(read))))
    if found.size and written_ids:
        rows = _unit_numbers(tokenizer.decode, written_ids, written)
        columns = _unit_numbers(tokenizer.decode_source, read_ids, read)
        summed = _summed(attention, rows, columns)
        found[: max(rows) + 1, : max(columns) + 1] = summed
    return found / np.maximum(found.sum(axis=1, keepdims=True), TINY)


def _unit_numbers(
    decode: Callable[[Sequence[int]], str], ids: Sequence[int], text: str
) -> list[int]:
    """The number of the unit that each token belongs to; the tokens' text may differ a little."""
    lengths = [len(decode(ids[: end + 1])) for end in range(len(ids))]
    ends = [end for _, end in units(text)]
    positions = [length * len(text) // max(1, lengths[-1]) for length in lengths]
    return [min(bisect_left(ends, position), len(ends) - 1) for position in positions]


def aligned(
    weights: Weights,
    columns: tuple[int, int],
    within: tuple[int, int],
    taken: Sequence[tuple[int, int]],
    edges: Sequence[set[int]],
) -> tuple[int, int]:
    """The two gaps around the rows that attend to these columns more than to others.

    The span lies `within` two gaps, crosses none in `taken`, and if possible starts and ends at
    `edges`, where a mark may open or close. Without columns or rows it is one gap: the rows before
    it attend most to the columns before. Columns with too little weight are extended.
    """
    (start, stop), (first, last) = columns, within
    point = start == stop or first == last
    if point:
        start, stop = 0, start
        first = max((a for a, b in taken if a == b), default=first)
    while not point and weights[first:last, start:stop].max() < WEAK:
        if stop - start == weights.shape[1]:
            break
        start, stop = max(start - 1, 0), min(stop + 1, weights.shape[1])
    others = np.delete(weights, slice(start, stop), axis=1).max(axis=1, initial=0)
    margins = weights[:, start:stop].max(axis=1, initial=0) - others
    total = [0.0, *accumulate(margins if point else margins - UNSURE)]
    spans = [
        (a, b)
        for a in range(first, last + 1)
        for b in ([a] if point else range(a + 1, last + 1))
        if not any(c < b and a < d for c, d in taken)
    ]
    if point:
        return max(spans, key=lambda span: (total[span[0]], span[0] if stop else -span[0]))
    return max(
        spans or [(a, b) for a, b in taken if a < b],
        key=lambda span: (
            (span[0] in edges[0]) + (span[1] in edges[1]),
            total[span[1]] - total[span[0]],
            -span[0],
        ),
    )
