"""Translations of a text: the sentences of its translation joined, with scores and word alignment.

The word alignment is read off the cross-attention: each target word is linked to the source word
that its tokens attend to most. Attention is not alignment: a layer may attend to something other
than the word that it translates (to the EOS token, to the word after). Expect a rough picture, best
for content words; `clearhead evaluate` measures the error of every layer and head. Words are what
`str.split` gives.
"""

import heapq
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from clearhead.decoding import Hypothesis
from clearhead.text import BothLanguages
from clearhead.translation.sources import Span

# (source word, target word), counted from 0 among what str.split() gives.
Link = tuple[int, int]
Weights = NDArray[np.floating]
_LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_BLANK_LINES = re.compile(rf"\A\s*{_LINE_BREAKS.pattern}")
# Source, translation, score per token, finished -> reasons to doubt.
Marker = Callable[[str, str, float, bool], tuple[str, ...]]


@dataclass(frozen=True)
class Translation:
    """One translation of one text.

    `score` is its log-probability, and `normalized` what translations are ranked by; for a text
    of several sentences both are the sums over the sentences. `per_token` is the score divided
    by the number of tokens, EOS token included; for a text, that of its least certain sentence.
    `finished` is False where the length limit cut it. `ids` are those of the sentences, in
    order. `alignment` and `doubt` are None unless asked for; `doubt` holds the reasons to doubt
    the translation (`clearhead.translation.doubt`), and is empty if there are none.
    """

    text: str
    score: float
    normalized: float
    finished: bool
    ids: tuple[tuple[int, ...], ...]
    alignment: tuple[Link, ...] | None = None
    doubt: tuple[str, ...] | None = None
    per_token: float = 0.0


BLANK = Translation("", 0.0, 0.0, True, ())


def word_numbers(decode: Callable[[Sequence[int]], str], ids: Sequence[int]) -> list[int]:
    """The number of the word that each token belongs to."""
    beginnings = [decode(ids[: end + 1]) for end in range(len(ids))]
    return [max(0, len(text.split()) - 1) for text in beginnings]


def word_links(
    tokenizer: BothLanguages, source: Sequence[int], target: Sequence[int], attention: Weights
) -> list[Link]:
    """For every target word the source word that its tokens attend to most.

    Shape: attention: (target tokens, source tokens and EOS token).
    """
    if not (tokenizer.decode_source(source).split() and tokenizer.decode(target).split()):
        return []  # nothing but white space: there are no words to link
    source_words = word_numbers(tokenizer.decode_source, source)
    target_words = word_numbers(tokenizer.decode, target)
    columns = np.zeros((len(target), source_words[-1] + 1))
    np.add.at(columns.T, source_words, attention[:, : len(source)].T)
    words = np.zeros((target_words[-1] + 1, columns.shape[1]))
    np.add.at(words, target_words, columns)
    return [(int(best), word) for word, best in enumerate(words.argmax(axis=1))]


class WordCounter:
    """The number of words in a text that is given part by part."""

    def __init__(self) -> None:
        self.words = 0
        self._within = False  # whether the last part ended within a word

    def add(self, part: str) -> None:
        """Append to the text."""
        if part:
            continued = self._within and not part[0].isspace()
            self.words += len(part.split()) - continued
            self._within = not part[-1].isspace()

    @property
    def first(self) -> int:
        """The number of the word that the next character belongs to, if it is not whitespace."""
        return self.words - self._within


@dataclass(frozen=True)
class Piece:
    """One hypothesis for one sentence, in text; links count words from its own start."""

    span: Span
    text: str
    hypothesis: Hypothesis
    links: list[Link] | None
    doubt: tuple[str, ...] | None = None

    @classmethod
    def of(cls, span: Span, text: str, hypothesis: Hypothesis, links: list[Link] | None) -> Self:
        """A model that writes a line break must not break the one line of its sentence."""
        return cls(span, _LINE_BREAKS.sub(" ", text).strip(), hypothesis, links)

    def marked(self, text: str, marker: Marker) -> Self:
        """With the reasons to doubt it; `text` is the source of the whole text."""
        source, finished = text[self.span[0] : self.span[1]], self.hypothesis.finished
        return replace(self, doubt=marker(source, self.text, self.hypothesis.per_token, finished))


@dataclass(frozen=True)
class Chain:
    """The hypotheses chosen for the first sentences of a text, last first."""

    total: float
    piece: Piece | None = None
    before: "Chain | None" = None

    def pieces(self) -> list[Piece]:
        """In the order of the text."""
        found, chain = [], self
        while chain.piece is not None and chain.before is not None:
            found.append(chain.piece)
            chain = chain.before
        return found[::-1]


def join(text: str, sentences: list[list[Piece]], n_best: int) -> list[Translation]:
    """The n_best combinations of the sentences' hypotheses, ranked by the sum of their ranks."""
    if n_best == 1:  # also where no scores were asked for, so that nothing can be compared
        return [_translation(text, [pieces[0] for pieces in sentences])]
    chains = [Chain(0.0)]
    for pieces in sentences:
        longer = (
            Chain(chain.total + piece.hypothesis.normalized, piece, chain)
            for chain in chains
            for piece in pieces
        )
        chains = heapq.nlargest(n_best, longer, key=lambda chain: chain.total)
    return [_translation(text, chain.pieces()) for chain in chains]


def _translation(text: str, pieces: list[Piece]) -> Translation:
    words: list[str] = []
    links: list[Link] = []
    read, written = WordCounter(), WordCounter()
    end = pieces[0].span[0]
    before = _BLANK_LINES.sub("", text[:end])
    read.add(before)
    written.add(before)
    for piece in pieces:
        gap = text[end : piece.span[0]]  # the whitespace and layout between two sentences
        words += [gap, piece.text]
        read.add(gap)
        written.add(gap)
        shift = read.first, written.first
        links.extend((s + shift[0], t + shift[1]) for s, t in piece.links or ())
        read.add(text[piece.span[0] : piece.span[1]])
        written.add(piece.text)
        end = piece.span[1]
    hypotheses = [piece.hypothesis for piece in pieces]
    return Translation(
        # A first or last sentence may have become nothing.
        (before + "".join(words).strip() + text[end:]).rstrip(),
        sum(h.score for h in hypotheses),
        sum(h.normalized for h in hypotheses),
        all(h.finished for h in hypotheses),
        tuple(tuple(h.ids) for h in hypotheses),
        None if pieces[0].links is None else tuple(links),
        None if pieces[0].doubt is None else _reasons(pieces),
        min(h.per_token for h in hypotheses),
    )


def layout_only(blank: Translation, text: str) -> Translation:
    """The translation of a text without a sentence: the same layout."""
    return replace(blank, text=_BLANK_LINES.sub("", text.rstrip()))


def _reasons(pieces: list[Piece]) -> tuple[str, ...]:
    """Of all sentences, each reason once."""
    return tuple(dict.fromkeys(reason for piece in pieces for reason in piece.doubt or ()))
