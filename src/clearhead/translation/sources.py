"""From texts to what the model reads: sentences of token ids, each with its span in the text.

A text is split where sentences end. What is layout and not language (marks of list items, tables,
rules, tags of elements) is no part of a sentence: a model would change it, and translate what
follows it in another way. A sentence with more tokens than the model has positions is cut where it
hurts least. A heading in capitals (WHERE IS THE STATION?) shares hardly a token with the sentences
that a model learned from, so it is read as it is usually written.

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

logger = logging.getLogger(__name__)

CHARACTERS = 64  # of a token, at most: a longer text is taken to have too many tokens
Span = tuple[int, int]  # start and end in a text
Encode = Callable[[list[str]], list[list[int]]]

# Never the end of a sentence, for a name or an example follows.
_TITLES = re.compile(
    r"(?i:mr|mrs|ms|mx|dr|prof|st|mt|gen|col|maj|capt|cmdr|lt|sgt|adm|rev|fr|hon|pres|gov|sen|rep"
    r"|supt|e\.g|i\.e|cf|viz|vs|v|ca|approx|esp)"
)
# An abbreviation only where a number follows: "No. 5", but "No. I will not."
_BEFORE_NUMBERS = re.compile(
    r"(?i:nos?|nr|figs?|vols?|pp?|art|sect?|ch|eq|para|apt|bldg|rm|tel|ext"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
# "J. R. R. Tolkien", "the U.S. Army"; the pronoun I is a word.
_INITIALS = re.compile(r"(?:[A-HJ-Z]|(?:[A-Z]\.)+[A-Z])")
_ENDING = re.compile(r"""([^\s"“‘(\[«]*?)([.!?…]+)["'”’»)\]]*$""")
_BEGINNING = re.compile(r"""["'“‘«(\[¿¡–—-]*(\w)""")
_VIEW = 60  # characters on either side that decide
# Better gaps first: after clause punctuation, between words.
_GAPS = (re.compile(r"(?<=[,;:–—])\s+"), re.compile(r"\s+"))
_LINE = re.compile("[^\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]+")
# Before a sentence: - * + • – > ## 1. 2) (3) a) b. 1.2. 1.2.3 [x] // --
_MARK = re.compile(
    r"(?:\s*(?:[-*+•◦▪‣·–—→>☐☑☒✓✔]|--|//+|/\*+|#{1,6}|\[[ xX]?\]|\(?[A-Za-z]\)|[a-z]\."
    r"|\(?(?:\d{1,3}\.)*\d{1,3}[.)]|(?:\d{1,3}\.|(?<=\# ))\d{1,3}(?:\.\d{1,3})+(?=\s+[A-Z]))"
    r"(?=\s))*\s*"
)
# Attributes of a tag that began in a line before, and the end of the tag.
_REST_OF_TAG = re.compile(r"""\s*(?:[\w:@.-]+=(?:"[^"]*"|'[^']*')\s*)+(?:/?>|\Z)""")
_NO_WORD = re.compile(r"[\W_]*")  # a rule, the borders of a table, an emoji
_FENCE = re.compile(r"(?:```|~~~)\w*")
_CUE = re.compile(r"WEBVTT.*|[\d:.,]+\s+-->\s+[\d:.,]+.*")  # the time of a subtitle
_BORDER = re.compile(r"\|")
_TAGS = (
    "address|article|aside|blockquote|body|br|button|caption|dd|div|dl|dt|figcaption|figure|footer"
    "|form|h[1-6]|head|header|hr|html|img|input|label|li|link|main|meta|nav|ol|option|p|pre"
    "|section|select|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul"
)
_LAYOUT = rf"<!--.*?-->|</?(?:{_TAGS})(?:\s[^<>]*)?/?>"
# Markup inside sentences; `clearhead.translation.markup` takes it out.
FENCE = r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?P<fence>`{3,}|~{3,})[^`\n]*"
# Attributes without a value.
_FLAGS = r"checked|controls|disabled|download|hidden|multiple|open|required|selected|data-[\w-]+"
_ATTRIBUTES = (
    r"""(?:\s+(?:[\w:@.-]+\s*=\s*(?:"[^"]{0,999}"|'[^']{0,999}'|[^\s"'<>]{1,999})"""
    rf"""|(?:{_FLAGS})(?=[\s/>])))*\s*"""
)
# Colours of a terminal, controls, zero-width characters; those that join letters or emoji stay.
_INVISIBLE = (
    r"\x1b\[[\d;]*m|[\0-\x08\x0e-\x1b\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
# The address of a Markdown link that is used by its name elsewhere.
_DEFINITION = re.compile(r" {0,3}\[[^\]^][^\]]*\]:[ \t]*<?(?:https?://|mailto:|[./#])\S*.*")
_RAISED = r"<(?P<{0}>su[bp])>[^<>\n]{{1,99}}</(?P={0})>"
# In a line that begins within code, the first mark closes it: "file`, `open` and `close`".
_OPENS_CODE = r"(?:(?<=``)|(?![,.;:!?)]*\s))"
MARKUP = re.compile(
    rf"""
  (?P<block>^(?!(?<=\S\n)~{{4,}}$){FENCE}$.*?(?:^[ \t>]*(?P=fence)[`~]*[ \t\r]*$|\Z)
     |<(?P<element>pre|script|style)\b[^<>]*>.*?</(?P=element)>)
 |(?P<layout>{_LAYOUT}|\bhttps?://[^\s<>*)\]]+|\\[*_~`\[])
 |(?P<code>(?<!`)(?P<ticks>`+)(?!`){_OPENS_CODE}[^\n]{{1,999}}?(?<!`)(?P=ticks)(?!`)\w*
     |<(?P<verbatim>code|kbd|samp|var){_ATTRIBUTES}>[^\n]{{0,999}}?</(?P=verbatim)>\w*
     |\b(?:(?:[A-Z]\w{{0,2}}|\d+|[a-z]{{1,2}}){_RAISED.format("formula")})+\w{{0,2}})
 |(?P<point>{_RAISED.format("note")}|\[\^\w+\]|{_INVISIBLE})
 |</?(?P<tag>[a-zA-Z][\w:-]*){_ATTRIBUTES}/?>
 |(?P<link>!?\[)
 |(?P<address>\](?:\((?:[^()\s]|\([^()\s]*\)){{0,999}}(?:\s+"[^"\n]{{0,999}}")?\)|\[[^\[\]\n]{{1,99}}\]))
 |(?P<run>\*{{1,3}}|(?<!_)_(?!_)|~~)
""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_MARKUP_BEGINS = re.compile(rf"[*_~`\[]|</?[a-zA-Z]|{_INVISIBLE}")
_BETWEEN = re.compile(rf"\t|{_LAYOUT}|<!DOCTYPE[^>]*>", re.I)


def may_have_markup(text: str) -> bool:
    """Whether a character or tag with which markup begins is in the text."""
    return bool(_MARKUP_BEGINS.search(text))


def language(text: str) -> Iterator[Span]:
    """The parts of each line between tags, tabs and the borders of cells, in order."""
    for line in _LINE.finditer(text):
        if _DEFINITION.fullmatch(line[0]):
            continue
        for start, end in _split(_BETWEEN, text, line.start(), line.end()):
            first = after_mark(text, start, end)
            if text.startswith("|", first, end):  # a row of a table, perhaps in a list
                yield from _split(_BORDER, text, first, end)
            else:
                yield start, end


def _split(layout: re.Pattern[str], text: str, start: int, end: int) -> Iterator[Span]:
    """What lies between the matches."""
    for match in layout.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def after_mark(text: str, start: int, end: int) -> int:
    """Where the sentence begins: behind the marks of a list item or heading, or attributes."""
    found = _REST_OF_TAG.match(text, start, end) or _MARK.match(text, start, end)
    assert found is not None  # which may be empty
    return found.end()


def is_layout(sentence: str) -> bool:
    """Whether nothing is to be translated: no letter or digit, a fence, the time of a subtitle."""
    return any(kind.fullmatch(sentence) for kind in (_NO_WORD, _FENCE, _CUE))


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
