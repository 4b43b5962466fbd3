"""The translated sentences of a text become the translation of the text."""

import heapq
import re
from dataclasses import dataclass
from typing import Self

from clearhead.decoding import Hypothesis
from clearhead.translation.alignment import first_word
from clearhead.translation.result import Link, Translation
from clearhead.translation.sentences import Span

_LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")


@dataclass(frozen=True)
class Piece:
    """One hypothesis for one sentence, in text; links count words from its own start."""

    span: Span
    text: str
    hypothesis: Hypothesis
    links: list[Link] | None

    @classmethod
    def of(cls, span: Span, text: str, hypothesis: Hypothesis, links: list[Link] | None) -> Self:
        """A model that writes a line break must not break the one line of its sentence."""
        return cls(span, _LINE_BREAKS.sub(" ", text).strip(), hypothesis, links)


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
    end = pieces[0].span[0]
    for piece in pieces:
        words.append(text[end : piece.span[0]])  # the whitespace between two sentences
        if piece.links:
            links.extend(_shifted(piece.links, text, piece.span[0], "".join(words)))
        words.append(piece.text)
        end = piece.span[1]
    hypotheses = [piece.hypothesis for piece in pieces]
    return Translation(
        "".join(words).strip(),  # a first or last sentence may have become nothing
        sum(h.score for h in hypotheses),
        sum(h.normalized for h in hypotheses),
        all(h.finished for h in hypotheses),
        tuple(tuple(h.ids) for h in hypotheses),
        None if pieces[0].links is None else tuple(links),
    )


def _shifted(links: list[Link], source: str, start: int, written: str) -> list[Link]:
    """Links counted from the beginning of the text instead of that of the sentence."""
    source_words, target_words = first_word(source, start), first_word(written, len(written))
    return [(s + source_words, t + target_words) for s, t in links]
