"""The lines of a document: blocks of code are copied, the lines of a paragraph may be joined."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from clearhead.translation.layout import (
    COLUMNS,
    TITLED,
    Span,
    after_mark,
    cells_of,
    is_layout,
    language,
)

# Blocks of code, and how each ends.
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?P<fence>`{3,}|~{3,})[^`\n]*")
_TILDES = re.compile(r"\s*~{4,}\s*")
_HTML = re.compile(  # also behind other tags: <div class="highlight"><pre>
    r"(?:\s|</?[a-z][^<>]*>)*<(?:(?P<tag>pre|script|style)\b[^<>]*>|!--)", re.IGNORECASE
)
_LATEX = re.compile(
    r"\s*\\begin\{(?P<name>(?:verbatim|lstlisting|minted|comment|tikzpicture|algorithmic"
    r"|displaymath|equation|align|gather|multline|eqnarray)\*?)\}"
)
_DISPLAY = re.compile(r"\s*(?:\$\$|(?P<bracket>\\\[))\s*")
# Front matter: key: value, items and comments between --- and ---; some values are language.
_END_OF_MATTER = re.compile(r"^(?:---|\+\+\+)\s*$|^(?![a-z][\w.-]*\s*[:=]|\s+\S|[\]}#-])")
_ORG = re.compile(r"\s*#\+begin_(?P<name>src|example|export|comment)\b", re.IGNORECASE)
_ASCIIDOC = re.compile(r"-{4,}|\.{4,}|={4,}")  # below [source,python]
# reStructuredText: what is indented below these is code.
_DIRECTIVE = re.compile(
    r"\s*\.\. (?:code|code-block|sourcecode|parsed-literal|literalinclude|math|raw|toctree"
    r"|doctest|testcode|image|include)::"
)
# A heading, or a command of LaTeX on a line of its own; a break that Markdown or LaTeX keeps.
_HEADING = re.compile(r"\s*(?:#{1,6}|={1,6})\s|\s*\\\w+\*?\{.*\}\s*$")
_BREAK = re.compile(r"(?: {2}|\\)\r?$")
_HYPHEN = re.compile(r"[^\W\d_]-$")
_QUOTED = re.compile(r"[ \t]*(?:>[ \t]*)+|")  # the marks of a quotation
_WITHIN = re.compile(r"[^\W\d_],?$")
SHORTEST = 40  # characters of a line that was broken
MOST_LINES = 1000  # of a paragraph; what follows is the next one


class CodeBlocks:
    """Called with one line after the other: whether it belongs to a block of code or a comment.

    Fences of Markdown, <pre> and comments of HTML, listings and formulas of LaTeX, blocks of Org
    and AsciiDoc (all with their first and last line), what reStructuredText indents below a
    directive or a paragraph that ends in `::`, and the front matter of Markdown but its title.
    """

    def __init__(self) -> None:
        self._end: re.Pattern[str] | None = None
        self._indented = -1  # code has more spaces than this
        self._before: str | None = None

    def __call__(self, line: str) -> bool:
        """Whether the line is to be copied."""
        before, self._before = self._before, line
        if before is None and line.rstrip() in ("---", "+++"):
            self._end = _END_OF_MATTER
            return True
        width = len(line) - len(line.lstrip())
        if self._end is None and self._indented >= 0:
            if width > self._indented or not line.strip():
                return True
            self._indented = -1
        if self._end is not None:
            titled = self._end is _END_OF_MATTER and re.match(TITLED, line)
            if found := self._end.search(line):
                self._end = self._begun("", line[found.end() :])
            return not titled and (found is None or found[0] != "")
        self._end = self._begun((before or "").strip(), line)
        directive = _DIRECTIVE.match(line)
        if directive or (self._end is None and line.rstrip().endswith("::")):
            self._indented = width
        return bool(self._end or directive or _LATEX.match(line))

    @staticmethod
    def _begun(before: str, line: str) -> re.Pattern[str] | None:
        """The end of the block that begins in this line, if it does not end there."""
        heading = _TILDES.fullmatch(line) and 0 < len(before) <= len(line.strip())
        if (fence := _FENCE.fullmatch(line)) and not heading:
            return re.compile(rf"^[ \t>]*{fence['fence']}[`~]*[\s>]*$")
        if before.startswith(("[source", "[listing")) and _ASCIIDOC.fullmatch(line.strip()):
            return re.compile(rf"^\s*{re.escape(line.strip())}\s*$")
        if block := _LATEX.match(line):
            end = re.escape(rf"\end{{{block['name']}}}")
        elif block := _DISPLAY.fullmatch(line):
            end = r"\\\]" if block["bracket"] else r"\$\$"
        elif block := _ORG.match(line):
            end = rf"#\+end_{block['name']}"
        elif block := _HTML.match(line):
            end = f"</{block['tag']}>" if block["tag"] else "-->"
        else:
            return None
        closes = re.compile(end, re.IGNORECASE)
        return None if closes.search(line, block.end()) else closes


def code_blocks(text: str) -> list[Span]:
    """The blocks of code of a text, each without the end of its last line."""
    is_code, spans, start = CodeBlocks(), list[Span](), 0
    within = False
    for line in text.split("\n"):
        end = start + len(line)
        before, within = within, is_code(line)
        if within and before and line.strip():
            spans[-1] = spans[-1][0], end
        elif within and not before:
            spans.append((start, end))
        start = end + 1
    return spans


def join_lines(text: str) -> str:
    """The text with each paragraph on one line.

    For texts whose lines were broken at a width: otherwise each line is translated by itself. A
    line continues the one before if both are running text. Blank lines, list items, headings,
    tables, data and blocks of code keep their lines, and so does a break with two spaces or a
    backslash before it (Markdown, LaTeX). The `>` of a quotation is kept once a paragraph.
    """
    return "\n".join(line for lines in join_chunks([text.split("\n")]) for line in lines)


def join_chunks(chunks: Iterable[list[str]]) -> Iterator[list[str]]:
    """`join_lines` for lists of lines as they come; a paragraph may reach into the next list."""
    is_code, paragraphs = CodeBlocks(), list[list[_Line]]()
    for lines in chunks:
        for line in (_Line.read(line, is_code(line)) for line in lines):
            if paragraphs and line.continues(paragraphs[-1]):
                paragraphs[-1].append(line)
            else:
                paragraphs.append([line])
        complete = len(paragraphs) - (not paragraphs[-1][-1].ends if paragraphs else 0)
        if complete:
            yield [*map(_joined, paragraphs[:complete])]
        paragraphs = paragraphs[complete:]
    if paragraphs:
        yield [*map(_joined, paragraphs)]


def ends_within_sentences(lines: list[str]) -> bool:
    """Whether lines were broken at a width: three long ones go on in lower case in the next line.

    A list of texts without any capital is none that was broken.
    """
    goes_on = (
        len(line) >= SHORTEST and _WITHIN.search(line) and following.lstrip()[:1].islower()
        for line, following in pairwise(lines)
    )
    return sum(map(bool, goes_on)) >= 3 and any(line[:1].isupper() for line in lines)


class _Line(NamedTuple):
    """A line, and whether it can be joined to its neighbours."""

    written: str
    depth: int  # marks of a quotation
    text: str  # behind them
    begins: bool  # it continues no other line
    ends: bool  # no other line continues it

    @classmethod
    def read(cls, line: str, code: bool) -> "_Line":
        """Its parts lie between tags: `<p>` may stand before a paragraph, `</p>` behind it."""
        marks = _QUOTED.match(line)
        assert marks is not None  # which may be empty
        depth, text = marks[0].count(">"), line[marks.end() :]
        apart = _HEADING.match(text) or COLUMNS.search(text.strip()) or cells_of(text) is not None
        parts = [] if code or apart else [text[start:end] for start, end in language(text)]
        if not parts:
            return cls(line, depth, text, begins=True, ends=True)
        marked = after_mark(text, 0, len(text)) > len(text) - len(text.lstrip())
        ends = is_layout(parts[-1]) or _BREAK.search(line) is not None
        return cls(line, depth, text, marked or is_layout(parts[0]), ends)

    def continues(self, paragraph: "list[_Line]") -> bool:
        """Whether it belongs to a paragraph that ends in front of it."""
        before = paragraph[-1]
        joins = not self.begins and not before.ends and self.depth == before.depth
        return joins and len(paragraph) < MOST_LINES


def _joined(paragraph: list[_Line]) -> str:
    """One line. A hyphen at the end of a line belongs to a word: well-known."""
    joined = paragraph[0].written
    for line in paragraph[1:]:
        gap = "" if _HYPHEN.search(joined := joined.rstrip()) else " "
        joined += gap + line.text.lstrip()
    return joined
