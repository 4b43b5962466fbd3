"""Translations of a text: the sentences of its translation joined, with scores and word alignment.

The word alignment is read off the cross-attention: each target word is linked to the source word
that its tokens attend to most. Attention is not alignment: a layer may attend to something other
than the word that it translates (to the EOS token, to the word after). Expect a rough picture, best
for content words; `clearhead evaluate` measures the error of every layer and head. Words are what
`str.split` gives.

`OneForm`: where the translations of a text mix *tu* and *vous*, since each sentence is translated
by itself and English *you* does not say which is meant, they are searched for again with a wider
beam, and the form with the more probable hypotheses is taken for all. A sentence keeps its
translation if all hypotheses with this form are much less probable.
"""

import heapq
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from clearhead.decoding import DecodingOptions, Engine, Hypothesis
from clearhead.errors import counted
from clearhead.text import BothLanguages
from clearhead.text.word_labels import Link
from clearhead.translation.layout import Span, quoted_cells
from clearhead.translation.sources import Source

logger = logging.getLogger(__name__)

BEAMS = 12  # to find the other form of address
TU, VOUS = "tu", "vous"
POLITE = 0.5  # nats by which vous may be less probable: it suits several people, and unknown ones
_TU = re.compile(r"\b(?:tu|te|toi|ton|ta|tes|tien|tienne)\b|\bt'", re.IGNORECASE)
_VOUS = re.compile(r"\b(?:vous|votre|vos|vôtre)\b|\b(?!ch|n|r|ass)\w+ez\b", re.IGNORECASE)
MOST = 4.0  # nats by which a hypothesis with the form may be less probable than the best one
_LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_BLANK_LINES = re.compile(rf"\A\s*{_LINE_BREAKS.pattern}")
# Source, translation, score per token, finished -> reasons to doubt.
Marker = Callable[[str, str, float, bool], tuple[str, ...]]


def alignment_layer_of(layers: int) -> int:
    """The decoder layer for word alignment: the last of one or two, else the last but one.

    `clearhead evaluate --data grammar:test:500` measures the error of every layer.
    """
    return layers - (1 if layers <= 2 else 2)


@dataclass(frozen=True)
class Translation:
    """One translation of one text.

    `score` is its log-probability, and `normalized` what translations are ranked by; for a text
    of several sentences both are the sums over the sentences. `per_token` is the score divided
    by the number of tokens, EOS token included; for a text, that of its least certain sentence.
    `finished` is False where the length limit cut it. `ids` are those of the sentences, in
    order; markup has none, and code has those of the name that stands for it (X1). `alignment`
    and `doubt` are None unless asked for; of code, the first word is aligned. `doubt` holds the
    reasons to doubt the translation (`clearhead.translation.doubt`); it is empty if there are none.
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
    texts = quoted_cells(text, [piece.span for piece in pieces], [piece.text for piece in pieces])
    for piece, shown in zip(pieces, texts, strict=True):
        gap = text[end : piece.span[0]]  # the whitespace and layout between two sentences
        words += [gap, shown]
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
        _without_end(before + "".join(words).strip() + text[end:]),
        sum(h.score for h in hypotheses),
        sum(h.normalized for h in hypotheses),
        all(h.finished for h in hypotheses),
        tuple(tuple(h.ids) for h in hypotheses),
        None if pieces[0].links is None else tuple(links),
        None if pieces[0].doubt is None else _reasons(pieces),
        min(h.per_token for h in hypotheses),
    )


def _without_end(text: str) -> str:
    """Without whitespace at the end, except tabs: they are borders of empty cells."""
    return re.sub(r"(?<![^\S\t])[^\S\t]+\Z", "", text) if text.strip() else ""


def layout_only(blank: Translation, text: str) -> Translation:
    """The translation of a text without a sentence: the same layout."""
    return replace(blank, text=_BLANK_LINES.sub("", _without_end(text)))


def _reasons(pieces: list[Piece]) -> tuple[str, ...]:
    """Of all sentences, each reason once."""
    return tuple(dict.fromkeys(reason for piece in pieces for reason in piece.doubt or ()))


def warn_of_limits(
    texts: Sequence[str], sources: list[Source], found: list[list[Hypothesis]]
) -> None:
    """Log how many translations have no EOS token."""
    cut = [s for s, hypotheses in zip(sources, found, strict=True) if not hypotheses[0].finished]
    if cut:
        start, end = cut[0].span
        logger.warning(
            "%d of %s reached the length limit before the EOS token, the first is %r; such a "
            "translation is incomplete or repetitive: raise max_length, or set no_repeat_ngram=4 "
            "(`clearhead translate` has --max-length and --no-repeat-ngram)",
            len(cut),
            counted(len(sources), "sentence"),
            texts[cut[0].text][start : min(end, start + 60)],
        )


def with_beams(options: DecodingOptions, beams: int) -> DecodingOptions:
    """The options with at least so many beams, and all their hypotheses."""
    beams = max(beams, options.beam_size)
    return replace(options, beam_size=beams, n_best=beams)


def with_first(chosen: Hypothesis, before: list[Hypothesis]) -> list[Hypothesis]:
    """As many hypotheses as before, one in front.

    Sentences of a text are combined by `normalized`: the first has to have the highest.
    """
    highest = max(chosen.normalized, before[0].normalized)
    others = [hypothesis for hypothesis in before if hypothesis.ids != chosen.ids]
    return [replace(chosen, normalized=highest), *others][: len(before)]


def forms_of_address(french: str) -> set[str]:
    """*tu*, *vous*, both or neither; an imperative such as *ferme* shows neither."""
    return {form for form, pattern in ((TU, _TU), (VOUS, _VOUS)) if pattern.search(french)}


@dataclass(frozen=True)
class OneForm:
    """Called with the sources of texts and their hypotheses; returns these, or others."""

    engine: Engine
    tokenizer: BothLanguages
    options: DecodingOptions

    def __call__(
        self, sources: Sequence[Source], found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """The hypotheses of every source, best first."""
        forms = [self._forms(hypotheses[0]) for hypotheses in found]
        of_text: dict[int, set[str]] = {}
        for source, own in zip(sources, forms, strict=True):
            of_text.setdefault(source.text, set()).update(own)
        again = [i for i, s in enumerate(sources) if forms[i] and len(of_text[s.text]) > 1]
        if not again:
            return found
        more = self.engine.decode([sources[i].ids for i in again], with_beams(self.options, BEAMS))
        candidates = dict(zip(again, more, strict=True))
        best = list(found)
        for text in dict.fromkeys(sources[i].text for i in again):
            together = {i: candidates[i] for i in again if sources[i].text == text}
            for i, chosen in self._one_form(together).items():
                best[i] = with_first(chosen, found[i])
        return best

    def _forms(self, hypothesis: Hypothesis) -> set[str]:
        return forms_of_address(self.tokenizer.decode(hypothesis.ids))

    def _one_form(self, candidates: dict[int, list[Hypothesis]]) -> dict[int, Hypothesis]:
        """Of each sentence of a text the best hypothesis with the better form, if it has one."""
        choices = [
            {i: self._best(found, form) for i, found in candidates.items()} for form in (VOUS, TU)
        ]
        polite, familiar = (sum(cost for cost, _ in one.values()) for one in choices)
        better = choices[0] if polite + POLITE >= familiar else choices[1]
        return {i: hypothesis for i, (_, hypothesis) in better.items() if hypothesis}

    def _best(self, found: list[Hypothesis], form: str) -> tuple[float, Hypothesis | None]:
        """The most probable without the other form, and how much less probable it is than all."""
        highest = max(hypothesis.score for hypothesis in found)
        fitting = [h for h in found if self._forms(h) <= {form} and h.score >= highest - MOST]
        best = max(fitting, key=lambda h: h.score, default=None)
        return (best.score - highest if best else -MOST), best
