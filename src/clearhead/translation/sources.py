"""From texts to what the model reads: sentences of token ids, each with its span in the text.

A text is split where sentences end; what is layout (`clearhead.translation.layout`) is no part of
a sentence. A sentence with more tokens than the model has positions is cut where it hurts least. A
heading in capitals (WHERE IS THE STATION?) shares hardly a token with the sentences that a model
learned from, so it is read as it is usually written.

Spans are pairs of positions in the text, so nothing is lost: what lies between two spans is
whitespace and layout, which are copied into the translation.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clearhead.errors import UserError
from clearhead.text import BothLanguages, MarianLanguages
from clearhead.translation.layout import Span, after_mark, is_layout, language

logger = logging.getLogger(__name__)

CHARACTERS = 64  # of a token, at most: a longer text is taken to have too many tokens
Encode = Callable[[list[str]], list[list[int]]]

# Never the end of a sentence, for a name or an example follows.
_TITLES = re.compile(
    r"(?i:mr|mrs|ms|mx|dr|prof|st|mt|gen|col|maj|capt|cmdr|lt|sgt|adm|rev|fr|hon|pres|gov|sen|rep"
    r"|supt|e\.g|i\.e|cf|viz|vs|v|ca|approx|esp|incl)"
)
# An abbreviation only where a number follows: "No. 5", but "No. I will not."
_BEFORE_NUMBERS = re.compile(
    r"(?i:nos?|nr|figs?|vols?|pp?|art|sect?s?|ch|chap|eqs?|refs?|tab|thm|al|para|apt|bldg|rm"
    r"|tel|ext|ver|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
# "J. R. R. Tolkien", "the U.S. Army"; the pronoun I is a word.
_INITIALS = re.compile(r"(?:[A-HJ-Z]|(?:[A-Z]\.)+[A-Z])")
_ENDING = re.compile(r"""([^\s"“‘(\[«]*?)([.!?…]+)["'”’»)\]]*$""")
_BEGINNING = re.compile(r"""["'“‘«(\[¿¡–—-]*(\w)""")
_VIEW = 60  # characters on either side that decide
# Better gaps first: after clause punctuation, between words.
_GAPS = (re.compile(r"(?<=[,;:–—])\s+"), re.compile(r"\s+"))


def sentence_spans(text: str) -> list[Span]:
    """The (start, end) of every sentence; all that lies outside them is whitespace and layout.

    A sentence ends with its line, or at . ! ? … (and closing quotes) before
    whitespace and something that does not begin in lower case; titles,
    initials, abbreviations before numbers and decimals end nothing.
    """
    spans = (span for part in language(text) for span in _sentences(text, *part))
    return [(start, end) for start, end in spans if not is_layout(text[start:end])]


def _sentences(text: str, start: int, stop: int) -> Iterator[Span]:
    """The sentences of one part of a line."""
    start = after_mark(text, start, stop)
    stop = start + len(text[start:stop].rstrip())
    for gap in _GAPS[-1].finditer(text, start, stop):
        before = text[max(start, gap.start() - _VIEW) : gap.start()]
        if before and _is_border(before, text[gap.end() : min(stop, gap.end() + _VIEW)]):
            yield start, gap.start()
            start = after_mark(text, gap.end(), stop)
    if start < stop:
        yield start, stop


def _is_border(before: str, after: str) -> bool:
    ending, beginning = _ENDING.search(before), _BEGINNING.match(after)
    if not ending or not beginning or beginning[1].islower():
        return False
    word, mark = ending[1], ending[2]
    return mark != "." or not _is_abbreviation(word, beginning[1].isdigit())


def _is_abbreviation(word: str, number_follows: bool) -> bool:
    kinds = [_TITLES, _INITIALS, *([_BEFORE_NUMBERS] if number_follows else [])]
    return any(kind.fullmatch(word) for kind in kinds)


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
    """Two non-empty parts of a stripped text, cut near the middle at the best kind of gap."""
    middle = len(text) / 2
    for kind in _GAPS:
        # A part of less than a quarter would be a fragment without meaning.
        gaps = [g for g in kind.finditer(text) if abs(g.start() - middle) <= middle / 2]
        if gaps:
            gap = min(gaps, key=lambda g: abs(g.start() - middle))
            return (0, gap.start()), (gap.end(), len(text))
    left, right = text[: len(text) // 2].rstrip(), text[len(text) // 2 :].lstrip()
    return (0, len(left)), (len(text) - len(right), len(text))


def in_capitals(sentence: str) -> bool:
    """More than one word and no small letter; a word alone may be a name such as NATO."""
    return sentence.isupper() and len(sentence.split()) > 1


def as_usual(sentence: str, encode: Encode) -> str:
    """The same sentence with every word as it is usually written; a capital begins it.

    The usual form of a word is the one that takes the fewest tokens; so Mary keeps her capital,
    and a model that learned from capitals alone still gets them. Of two forms with as many tokens,
    small letters are right more often: "She" begins sentences.
    """
    forms = sorted({form for word in sentence.split() for form in _forms(word)})
    pieces = dict(zip(forms, map(len, encode(forms)), strict=True))
    usual = re.sub(r"\S+", lambda word: min(_forms(word[0]), key=pieces.__getitem__), sentence)
    return _with_a_capital(re.sub(r"\bi\b", "I", usual))


def _forms(word: str) -> tuple[str, str, str]:
    """mary, Mary, MARY: of forms with as many tokens, the first is taken."""
    small = word.lower()
    return small, _with_a_capital(small), word


def _with_a_capital(text: str) -> str:
    return re.sub(r"[^\W\d_]", lambda letter: letter[0].upper(), text, count=1)


class Encoded(NamedTuple):
    """Ids with the EOS token; `capitals` if the sentence is in capitals and its ids are not."""

    ids: list[int]
    capitals: bool


@dataclass(frozen=True)
class Source:
    """A part of a text: its span, and its ids with the EOS token."""

    text: int  # number of the text
    span: Span
    ids: list[int]
    capitals: bool  # whether its translation is set in capitals


@dataclass(frozen=True)
class Reader:
    """Cuts texts into sentences that the model has positions for, and encodes them.

    `split_sentences=False` gives a whole text to the model at once. A sentence
    with more than `src_seq_len` tokens is cut further, with a warning, or, with
    `refuse_long`, refused. One in capitals is read as it is usually written (`as_usual`), if
    that takes fewer tokens.
    """

    tokenizer: BothLanguages
    src_seq_len: int
    split_sentences: bool = True
    refuse_long: bool = False

    def read(self, texts: Sequence[str]) -> list[Source]:
        """The parts of all texts in order; a blank text has none."""
        spans = [(number, span) for number, text in enumerate(texts) for span in self._spans(text)]
        # A span that cannot fit is cut before it is encoded: megabytes would take minutes.
        possible = [(number, span) for number, span in spans if self._may_fit(*span)]
        encoded = self.encode([self._part(texts[n], texts[n][s:e]) for n, (s, e) in possible])
        fitting = dict(zip(possible, encoded, strict=True))
        sources: list[Source] = []
        for number, span in spans:
            ids, capitals = fitting.get((number, span), Encoded([], False))
            if ids and len(ids) <= self.src_seq_len:
                sources.append(Source(number, span, ids, capitals))
            else:
                sources.extend(self._parts(number, texts[number], span, len(ids)))
        return sources

    def _may_fit(self, start: int, end: int) -> bool:
        return end - start <= CHARACTERS * self.src_seq_len

    def _spans(self, text: str) -> list[Span]:
        if self.split_sentences:
            return sentence_spans(text)
        start = len(text) - len(text.lstrip())
        end = len(text.rstrip())
        return [(start, end)] if start < end else []

    def _part(self, text: str, part: str) -> str:
        """A part of a text; the language that a text begins with (>>fr<<) is that of every part."""
        if isinstance(self.tokenizer, MarianLanguages) and not self.tokenizer.language(part):
            return self.tokenizer.language(text) + part
        return part

    def _parts(self, number: int, text: str, span: Span, tokens: int) -> Iterator[Source]:
        opening = text[span[0] : span[0] + 40]
        length = f"{tokens} tokens, EOS included" if tokens else f"{span[1] - span[0]:,} characters"
        size = f"the sentence {opening!r} … has {length}"
        if self.refuse_long:
            raise UserError(
                f"{size}, but this model has src_seq_len={self.src_seq_len} positions; "
                "shorten it, or leave out --long-input refuse (in Python: refuse_long=False)"
            )
        spans = cut(text, span, lambda part: self._fits(self._part(text, part)))
        logger.warning(
            "%s; the model has %d positions, so it is translated in %d parts",
            size,
            self.src_seq_len,
            len(spans),
        )
        parts = [self._part(text, text[start:end]) for start, end in spans]
        for part, encoded in zip(spans, self.encode(parts), strict=True):
            yield Source(number, part, *encoded)

    def _fits(self, part: str) -> bool:
        return self._may_fit(0, len(part)) and len(self.encode([part])[0].ids) <= self.src_seq_len

    def decode(self, source: Source, ids: Sequence[int]) -> str:
        """The translation of a source; in capitals, if the source is."""
        text = self.tokenizer.decode(ids)
        return text.upper() if source.capitals else text

    def encode(self, texts: list[str]) -> list[Encoded]:
        """The ids of whole sentences, however long."""
        encode, end = self.tokenizer.encode_batch, self.tokenizer.eos_id
        rows = encode(texts)
        loud = [number for number, text in enumerate(texts) if in_capitals(text)]
        usual = encode([as_usual(texts[number], encode) for number in loud])
        shorter = {n: ids for n, ids in zip(loud, usual, strict=True) if len(ids) < len(rows[n])}
        return [Encoded([*shorter.get(n, ids), end], n in shorter) for n, ids in enumerate(rows)]
