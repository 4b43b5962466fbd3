"""Markup inside sentences, which the model does not read: tags, emphasis, links and code.

`take_out` removes it from a text; the plain text is translated; `place` puts it around the same
words of the translation, which the cross-attention shows. Code has a name there that models copy
(X1). Marks of Markdown count only in pairs: `2 * 3`, `snake_case` and a list's `*` are text.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

from clearhead.text import BothLanguages
from clearhead.text.word_labels import Weights, aligned, edges, overlapping, unit_weights, units
from clearhead.translation.documents import code_blocks
from clearhead.translation.layout import MARKUP, Span, may_have_markup, unused_names
from clearhead.translation.result import Piece
from clearhead.translation.sources import Source

Key = tuple[float, ...]  # in the order of tags
_OPENS = re.compile(r"""(?<![^\W_])[*_~'`]{1,9}(?=[\w"'“‘«(\[<*~`#@$€£¡¿])""")
_MARKDOWN = ("run", "link", "address")  # what is text without its partner
_WORD_FOLLOWS = re.compile(r"(?:<[a-zA-Z][^<>]*>|!?\[|[*_~]{1,3})+\w")
# What follows code without a space between: a word or other code, perhaps in tags.
_TOUCHES = re.compile(r"(?:</?[a-zA-Z][^<>]*>|!?\[|[*_~])*(?:[^\W_]|`|<(?:code|kbd|samp|var)\b)")
_LINE = re.compile(".+")
_CLOSES = re.compile(r"(?<=\S)[*_~']{1,9}(?![^\W_])")


class Mark(NamedTuple):
    """`text`, in place of the plain text's characters from `start` to `end`."""

    start: int
    end: int
    text: str
    partner: int = 0  # how far behind it in the list its other tag is; 0: it has none


@dataclass(frozen=True)
class Marked:
    """A plain text, and the markup that was taken out of it, in order."""

    plain: str
    marks: Sequence[Mark] = ()

    def __add__(self, other: "Marked") -> "Marked":
        n = len(self.plain)
        marks = [mark._replace(start=mark.start + n, end=mark.end + n) for mark in other.marks]
        return Marked(self.plain + other.plain, [*self.marks, *marks])

    def full(self) -> str:
        """The text with its markup."""
        marks, ends = self.marks, [0, *(mark.end for mark in self.marks)]
        parts = (self.plain[end : m.start] + m.text for end, m in zip(ends, marks, strict=False))
        return "".join(parts) + self.plain[ends[-1] :]

    @cached_property
    def _shifts(self) -> list[int]:
        return [0, *accumulate(len(m.text) - (m.end - m.start) for m in self.marks)]

    def words(self) -> list[int]:
        """For each word of the plain text its number in the full one."""
        words = re.finditer(r"\S+", self.plain)
        return [len(self.sentence(0, w.start() + 1)[1].full().split()) - 1 for w in words]

    def copies(self, translation: str) -> dict[int, list[Mark]]:
        """The code that stands where the translation has its name, under its number."""
        found: dict[int, list[Mark]] = {}
        for number, mark in enumerate(self.marks):
            name = self.plain[mark.start : mark.end].strip()
            apart = " ?" if self.plain[mark.end - 1 : mark.end] == " " else ""
            for copy in re.finditer(rf"{name}\b{apart}", translation) if name else ():
                found.setdefault(number, []).append(Mark(*copy.span(), mark.text))
        return found

    def sentence(self, start: int, end: int) -> tuple[Span, "Marked"]:
        """A part, and its span in the full text; a tag that opens at its end is not in it."""
        marks = self.marks
        first = bisect_left(marks, start, key=lambda mark: mark.start)
        last = bisect_right(marks, end, key=lambda mark: mark.start)
        while first < last and marks[first].end == start and marks[first].partner < 0:
            first += 1
        while first < last and marks[last - 1].end + (marks[last - 1].partner > 0) > end:
            last -= 1
        kept = range(first, last)
        own = [
            Mark(m.start - start, m.end - start, m.text, m.partner * (n + m.partner in kept))
            for n, m in zip(kept, marks[first:last], strict=True)
        ]
        span = start + self._shifts[first], end + self._shifts[last]
        return span, Marked(self.plain[start:end], own)


def take_out(text: str) -> Marked:
    """The text without blocks of code and without the markup inside its sentences."""
    if not may_have_markup(text):
        return Marked(text)
    names = unused_names(text)
    whole, end = Marked(""), 0
    for start, stop in code_blocks(text):
        block = Marked("\n", [Mark(0, 1, text[start:stop])])
        whole, end = whole + _take_out(text[end:start], names) + block, stop
    return whole + _take_out(text[end:], names)


def _take_out(text: str, names: Iterator[str]) -> Marked:
    """The text without the markup inside its sentences; `names` are those of pieces of code."""
    found = [match for match in MARKUP.finditer(text) if not match["layout"]]
    partners = _partners(text, found)
    kept = [n for n, match in enumerate(found) if n in partners or match.lastgroup not in _MARKDOWN]
    numbers = {n: number for number, n in enumerate(kept)}
    plain, end, marks = "", 0, list[Mark]()
    for n in kept:
        start, stop = found[n].span()
        plain += text[end:start]
        follows = n in partners and partners[n] < n < partners.get(n + 1, 0)
        apart = follows and plain[-1:].isalnum() and _WORD_FOLLOWS.match(text, stop)
        breaks = found[n]["block"] or apart or text.startswith(r"\footnote", start)
        name = "\n" if breaks else next(names) if found[n]["code"] else ""
        name += " " if found[n]["code"] and _TOUCHES.match(text, stop) else ""
        # Of two spaces around a tag one is left.
        end = stop + (not name and text[stop : stop + 1] == " " and plain[-1:] in ("", " "))
        partner = numbers[partners[n]] - numbers[n] if n in partners else 0
        marks.append(Mark(len(plain), len(plain) + len(name), text[start:end], partner))
        plain += name
    return Marked(plain + text[end:], marks)


def _partners(text: str, found: Sequence[re.Match[str]]) -> dict[int, int]:
    """The other tag of each that has one; pairs are nested, and Markdown's end with the line."""
    pairs: dict[int, int] = {}
    waiting: list[str] = []
    numbers: dict[str, list[int]] = {}  # of those that wait
    for number, match in enumerate(found):
        name = _name(match, quoted=bool(numbers.get("``")))
        own = numbers.setdefault(name, [])
        run, closes = match["run"], match["address"] or match[0].startswith("</")
        ends = own and _CLOSES.match(text, match.start()) if run else closes
        inside = (found[own[-1]].end(), match.start()) if own else (0, 0)
        if ends and own and (match["tag"] or _LINE.fullmatch(text, *inside)):
            pairs |= {own[-1]: number, number: own[-1]}
            while own and own[-1] >= pairs[number]:
                numbers[waiting.pop()].pop()
        elif name and not ends and (not run or _OPENS.match(text, match.start())):
            waiting.append(name)
            own.append(number)
    return pairs


def _name(match: re.Match[str], quoted: bool) -> str:
    """What both tags of a pair share; `quoted`: within a quotation of LaTeX, ``so''."""
    if match["run"]:
        return "``" if quoted and match[0] == "''" else match[0]
    if match["tag"]:
        return match["tag"].lower()
    bracket = "{" if match[0][0] in "\\{}" else "[[" if match[0][:2] in ("[[", "]]") else "["
    return bracket * (match.lastgroup in _MARKDOWN)


class _Pair(NamedTuple):
    """The gaps between units where a pair stands, the order of points there, and what it holds."""

    gaps: Span
    orders: tuple[float, float]
    inside: list[Span]


def place(source: Marked, target: str, weights: Weights) -> Marked:
    """The translation of a sentence with its markup around the units that attend to the same.

    Shape: weights: (units of the translation, units of the source). In a gap between units pairs
    close (the inner first), then come tags without content, then pairs open (the outer first).
    """
    written, copies = units(target), source.copies(target)
    ends = [0, *(end for _, end in written)]
    starts = [*(start for start, _ in written), ends[-1]]
    tags: list[tuple[Key, Mark]] = []
    around = [_Pair((0, len(written)), (0.5, 0.5), [])]
    for number, mark in enumerate(source.marks):
        if mark.partner < 0:
            around.pop()
        if mark.partner < 0 or number in copies:
            continue
        other, outer = source.marks[number + mark.partner], around[-1]
        columns = overlapping(source.plain, mark.start, other.start)
        sides = edges(source.plain[mark.start : other.start].strip(), target)
        first, last = gaps = aligned(weights, columns, outer.gaps, outer.inside, sides)
        outer.inside.append(gaps)
        order = dict(zip(outer.gaps, outer.orders, strict=True)).get(first, 0.5)
        if mark.partner:
            around.append(_Pair(gaps, (2, -1) if first < last else (order, order), []))
        if first < last:
            tags.append(_tag((first, 1, -last, number), starts, mark))
            tags.append(_tag((last, 0, -first, -number), ends, other))
            continue
        right = order > 1 or (order > 0 and source.plain[: mark.start][-1:].strip() == "")
        for n in {number, number + mark.partner}:
            tags.append(_tag((first, order, n), starts if right else ends, source.marks[n]))
    ordered = [mark for _, mark in sorted(tags)]
    positions = accumulate((mark.start for mark in ordered), max)
    marks = [m._replace(start=at, end=at) for m, at in zip(ordered, positions, strict=True)]
    marks += [mark for own in copies.values() for mark in own]
    return Marked(target, sorted(marks, key=lambda mark: mark[:2]))


def _tag(key: Key, characters: Sequence[int], mark: Mark) -> tuple[Key, Mark]:
    """A tag at its gap; code whose name the translation lacks stands there as a word."""
    position = characters[int(key[0])]
    spaced = (f" {mark.text}" if position else f"{mark.text} ") if mark.start < mark.end else ""
    return key, Mark(position, position, spaced or mark.text)


@dataclass(frozen=True)
class MarkupRestorer:
    """Called with plain texts and their markup, the sentences, and the pieces of each text.

    `attention` gives the cross-attention of a layer for pairs of ids.
    """

    tokenizer: BothLanguages
    layer: int
    attention: Callable[[list[list[int]], list[list[int]], int], list[Weights]]

    def __call__(
        self, texts: list[Marked], sources: list[Source], pieces: list[list[list[Piece]]]
    ) -> list[list[list[Piece]]]:
        """The pieces with markup; their spans are those in the texts with markup."""
        parts = [texts[source.text].sentence(*source.span) for source in sources]
        pairs = [
            (source.ids, piece.hypothesis.ids)
            for source, (_, part), found in zip(sources, parts, chain(*pieces), strict=True)
            if part.marks
            for piece in found
        ]
        weights = iter(
            self.attention([s for s, _ in pairs], [t for _, t in pairs], self.layer)
            if pairs
            else ()
        )
        rest = zip(sources, parts, strict=True)
        return [
            [self._sentence(*next(rest), found, weights) for found in sentences]
            for sentences in pieces
        ]

    def _sentence(
        self,
        source: Source,
        where: tuple[Span, Marked],
        pieces: list[Piece],
        weights: Iterator[Weights],
    ) -> list[Piece]:
        span, part = where
        if not part.marks:
            return [replace(piece, span=span) for piece in pieces]
        read = part.plain, source.ids[:-1]
        targets = [(piece.text, piece.hypothesis.ids) for piece in pieces]
        return [
            _restored(piece, span, part, unit_weights(self.tokenizer, read, target, next(weights)))
            for piece, target in zip(pieces, targets, strict=True)
        ]


def _restored(piece: Piece, span: Span, source: Marked, weights: Weights) -> Piece:
    """With the markup of its source; `span` is that of the source with markup."""
    placed, links = place(source, piece.text, weights), piece.links
    if links is not None:
        read, written = source.words(), placed.words()
        links = [(read[s], written[t]) for s, t in links]
    return replace(piece, span=span, text=placed.full(), links=links)
