"""What of a text is layout and markup, and what is language.

Layout (marks of list items, tables, rules, tags of elements, keys of data) is no part of a
sentence: a model would change it, and translate what follows it in another way. Markup stands
inside sentences (`MARKUP`); `clearhead.translation.markup` takes it out and puts it back.
"""

import re
from collections.abc import Iterator
from itertools import count

Span = tuple[int, int]  # start and end in a text

_LINE = re.compile("[^\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]+")
TITLED = "(?:title|subtitle|description|summary|excerpt):"  # of front matter
# Before a sentence: - * + • – >> ## 1. 2) (3) a) b. iv. 1.2. 1.2.3 [x] ( ) // --
_MARK = re.compile(
    r"(?:\s*(?:[-*+•◦▪‣·–—→☐☑☒✓✔]|>+|\( ?\)|--|//+|/\*+|#{1,6}|\[[ xX]?\]|\(?[A-Za-z]\)"
    r"|(?:[a-z]|[ivx]+)\.|[ivx]+\)"
    r"|\.\. [\w-]+::|:[a-z][\w +-]{0,40}:|={1,6}|\#\+\w+:"  # .. note:: :param x: == #+TITLE:
    rf"|\\item(?:\[[^\[\]]*\])?|{TITLED}"
    r"|\(?(?:\d{1,3}\.)*\d{1,3}[.)]|(?:\d{1,3}\.|(?<=\# ))\d{1,3}(?:\.\d{1,3})+(?=\s+[A-Z]))"
    r"(?=\s))*\s*"
)
# Attributes of a tag that began in a line before, and the end of the tag.
_REST_OF_TAG = re.compile(r"""\s*(?:[\w:@.-]+=(?:"[^"]*"|'[^']*')\s*)+(?:/?>|\Z)""")
# No sentence: a rule, the borders of a table, an emoji; a fence; the time of a subtitle; a comment
# of a .po file for programs.
_NOTHING = re.compile(r"[\W_]*|(?:```|~~~)\w*|WEBVTT.*|[\d:.,]+\s+-->\s+[\d:.,]+.*|#[:,|]\s.*")
_BORDER = re.compile(r"[|│║┃]")
# Data: {"key": "The value", "list": ["One", 2]}, title: "A title", msgid "Text", "of a .po file\\n"
_STRING = r'"(?:[^"\\]|\\.|"")*+"'
_KEY = rf"(?:{_STRING}|[a-z_][\w.-]*+)(?:\s*+:\s*+|\s++=\s++)|msg\w++(?:\[\d+\])?\s++"
_DATA = re.compile(rf"(?:{_KEY}|{_STRING}|-?\d[\w.+-]*+|(?:true|false|null)\b|[{{}}\[\],;\s-])++")
_VALUE = re.compile(rf"{_KEY}|({_STRING})")
# Rows of CSV: 1,"The cat",red; without quotation marks they have three cells or more.
_CELL = re.compile(rf'({_STRING}|(?!\s)[^",;]*+)')
_ROW = re.compile(rf"{_CELL.pattern}(?:[,;]{_CELL.pattern})++")
_CELL_ENDS = ("", "\n", "\r", ",", ";")
_QUOTED_CELL = re.compile(r'[,;]"|"[,;]')
_BETWEEN_CELLS = re.compile(r"(?<!\d)[,;](?=\S)|[,;](?=[^\s\d])")
_QUOTE = re.compile(r'\\"|""')
_LETTER = re.compile(r"[^\W\d_]")  # a number is data: 3.5 remains 3.5
_TAGS = (
    "address|article|aside|blockquote|body|br|button|caption|dd|div|dl|dt|figcaption|figure|footer"
    "|form|h[1-6]|head|header|hr|html|img|input|label|li|link|main|meta|nav|ol|option|p|pre"
    "|section|select|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul"
)
# LaTeX: \textbf{ and } stand around language, other commands are copied with their arguments,
# and a line that holds nothing else is layout.
_OF_TEXT = (
    r"(?:text(?:bf|it|sl|sc|sf|md|up|rm|normal)|emph|underline|(?:sub)*(?:section|paragraph)|chapter"
    r"|part|title|subtitle|caption|footnote|mbox|href\{[^{}\n]*\}|textcolor\{\w+\})\*?"
)
_FONT = r"(?:bf|em|it|rm|sc|sf|sl|tt|[a-z]{2}(?:series|shape|family)|small|[lL]arge)\b"  # {\bf
_COMMAND = (
    r"(?<![^\s{}()\[\]~$&.,;:!?-])(?!(?<=[.,;:!?])\\[nrt])"
    rf"(?:\\(?!{_OF_TEXT}(?:\[[^\[\]\n]*\])?\{{|item\b|(?-i:[nrt][A-Z]))"
    r"[a-zA-Z]{2,}+\*?(?:\[[^\[\]\n]{0,99}\]|\{(?:[^{}\n]|\{[^{}\n]{0,199}\}){0,199}\})*)+"
)
_LAYOUT = (
    rf"<!--.*?-->|</?(?:{_TAGS})(?:\s[^<>]*)?/?>"
    rf"|^[ \t]*(?:{_COMMAND}[ \t]+)*{_COMMAND}[ \t]*(?:%.*)?$|\\\\(?=[ \t\[]|$)(?:\[[\w.]+\])?"
)
# Markup inside sentences; `clearhead.translation.markup` takes it out.
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
# %(name)s %-10s %d%% {{ user.name }} {% if a %} {price:.2f}; the model copies %s and {name}.
_SPEC = r"[-+0]*\d*(?:\.\d+)?[sdifgux]\b"
_PLACEHOLDER = (
    rf"(?<!\w)%(?:\(\w+\){_SPEC}(?:%%)?|(?:\d+\$)?{_SPEC}%%|(?=[-+\d.]+[sdifgux]){_SPEC})"
    r"|\{\{[^{}\n]{1,199}\}\}|\{%[^{}\n]{1,199}%\}|(?<![\w\\}])\{\w+[.:!\[][^{}\s]{1,99}\}"
)
# $x^2$ \(a\) \cite{a} 50\% G\"odel, but not don\'t; a $ before a space or after one is no
# formula: $5 and $10.
_TEX = (
    r"(?<!\w)[^\W\d_]++\\(?:['`^\"~=.](?!(?:[tsmd]|re|ve|ll)\b)|[cuvHdbkr](?=\{))(?:\{\w\}|\w)\w*|"
    r"(?<![\w\\$])\$(?=[^\s$](?:[^$\n]{0,499}[^\s$])?\$(?![\w$]))"
    r"(?:[^\s$]+|[^$\n]*[\\^_=<>+][^$\n]*)\$"
    r"|\\\([^\n]{1,499}?\\\)|\\\[\s[^\n]{1,499}?\s\\\]|\b\d+(?:\.\d+)?\\%"
    rf"|\$\$[^$\n]{{1,499}}\$\$|\\verb\*?(?:\|[^|\n]*\||![^!\n]*!|\+[^+\n]*\+)|{_COMMAND}"
)
# 12:03:45,123 00:1A:2B:3C:4D:5E 192.168.0.1:80: no numbers with a comma. C:\Users \\server\docs
_ADDRESS = (
    r"(?:(?<![\w\\])[A-Za-z]:|(?<![\w\\])\\)(?:\\[\w.$~-]*\w)+|"
    r"(?<![\w.:])(?:(?:[\dA-Fa-f]{2}:){2,9}[\dA-Fa-f]{2}\b(?:[.,]\d+)?"
    r"|(?:\d{1,3}\.){3}\d{1,3}\b(?::\d+)?)"
)
MARKUP = re.compile(
    rf"""
  (?P<block><(?P<element>pre|script|style)\b[^<>]*>.*?</(?P=element)>)
 |(?P<run>\*{{1,3}}|(?<!_)_(?!_)|~~|(?<!')'{{2,5}}(?!')|(?<!`)``(?=[^\s`][^`\n]{{0,999}}''))
 |(?P<layout>{_LAYOUT}|\bhttps?://[^\s<>*)\]]+|\\[*_~`]|\\\[(?!\s))
 |(?P<code>(?<!`)(?P<ticks>`+)(?!`){_OPENS_CODE}[^\n]{{1,999}}?(?<!`)(?P=ticks)(?!`)\w*
     |<(?P<verbatim>code|kbd|samp|var){_ATTRIBUTES}>[^\n]{{0,999}}?</(?P=verbatim)>\w*
     |(?:{_PLACEHOLDER})+|{_TEX}|{_ADDRESS}
     |\b(?:(?:[A-Z]\w{{0,2}}|\d+|[a-z]{{1,2}}){_RAISED.format("formula")})+\w{{0,2}})
 |(?P<point>{_RAISED.format("note")}|\[\^\w+\]|{_INVISIBLE})
 |</?(?P<tag>[a-zA-Z][\w:-]*){_ATTRIBUTES}/?>
 |(?P<link>(?<![\w(])\[\[(?:[^\[\]\n]{{0,199}}(?:\||\]\[))?(?=[^\[\]\n]*\]\](?![(\[]))|!?\[
     |\\{_OF_TEXT}(?:\[[^\[\]\n]{{0,99}}\])?\{{|\{{\\{_FONT}[ ]+)
 |(?P<address>\]\](?![(\[])|\](?:\((?:[^()\s]|\([^()\s]*\)){{0,999}}(?:\s+"[^"\n]{{0,999}}")?\)|\[[^\[\]\n]{{1,99}}\])|(?<!\\)\}})
""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_MARKUP_BEGINS = re.compile(rf"[*_~`\[%${{\\]|\d[.:]\d|''|</?[a-zA-Z]|<!--|#\+|::|{_INVISIBLE}")
# A tab or three spaces or more between columns, the dots of a table of contents, :: above code.
_GAP = r"\t|(?<=\S)[ ]{3,199}(?=\S)|\.{5,}|(?:[ ]\.){4,}|(?<=\w)::(?=\s*$)"
COLUMNS = re.compile(rf"{_GAP}|[ ]\|[ ]")
_BETWEEN = re.compile(rf"{_GAP}|{_LAYOUT}|<!DOCTYPE[^>]*>", re.I | re.M)


def may_have_markup(text: str) -> bool:
    """Whether a character or tag with which markup begins is in the text."""
    return bool(_MARKUP_BEGINS.search(text))


def unused_names(text: str) -> Iterator[str]:
    """X1, X2, … but those that occur in the text; the model copies such names of code."""
    used = {name[:end] for name in re.findall(r"X\d+", text) for end in range(2, len(name) + 1)}
    return (name for n in count(1) if (name := f"X{n}") not in used)


def language(text: str) -> Iterator[Span]:
    """The parts of each line between tags, tabs and the borders of cells, in order."""
    for line in _LINE.finditer(text):
        if _DEFINITION.fullmatch(line[0]):
            continue
        if (cells := cells_of(line[0])) is not None:
            for start, end in cells:
                yield from _split(_QUOTE, text, line.start() + start, line.start() + end)
            continue
        for start, end in _split(_BETWEEN, text, line.start(), line.end()):
            first = after_mark(text, start, end)
            if _BORDER.match(text, first, end):  # a row of a table, perhaps in a list
                yield from _split(_BORDER, text, first, end)
            else:
                yield start, end


def cells_of(line: str) -> list[Span] | None:
    """The values of a line of data, without their quotation marks; None if it is language."""
    found = list(_VALUE.finditer(line)) if '"' in line and _DATA.fullmatch(line) else []
    # Strings alone are quotations, or cells.
    if line.lstrip()[:1] not in ("{", "[") and all(m[1] for m in found) and line[-3:] != '\\n"':
        is_row = _QUOTED_CELL.search(line) or len(_BETWEEN_CELLS.findall(line)) > 1
        found = list(_CELL.finditer(line)) if is_row and _ROW.fullmatch(line) else []
    spans = [match.span(1) for match in found if _LETTER.search(match[1] or "")]
    return [(s + 1, e - 1) if line[s] == '"' else (s, e) for s, e in spans] if found else None


def quoted_cells(text: str, spans: list[Span], written: list[str]) -> list[str]:
    """The translations at these spans, in quotation marks where a cell of CSV needs them.

    A cell without them gets them when its translation has the character between cells.
    """
    quoted, first, left = list(written), 0, ""
    for n, (start, end) in enumerate(spans):
        before, right = text[max(0, start - 1) : start], text[end : end + 1]
        if before in _CELL_ENDS:
            first, left = n, before
        if right not in _CELL_ENDS:
            continue
        separator = (left + right).strip()[:1]
        if separator and separator in "".join(written[first : n + 1]):
            line = text[text.rfind("\n", 0, start) + 1 :].split("\n", 1)[0]
            if cells_of(line) is not None:
                quoted[first] = f'"{quoted[first]}'
                quoted[n] += '"'
    return quoted


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
    return bool(_NOTHING.fullmatch(sentence))
