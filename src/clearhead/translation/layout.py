"""What of a text is layout and not language: marks of list items, tables, rules, tags of elements.

Layout is copied into the translation. A model would change it, and a mark before a sentence would
change the sentence.
"""

import re
from collections.abc import Iterator

Span = tuple[int, int]  # start and end in a text

_LINE = re.compile("[^\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]+")
# Before a sentence: - * + • – > ## 1. 2) (3) a) [x]
_MARK = re.compile(
    r"(?:\s*(?:[-*+•◦▪‣·–—→>☐☑☒✓✔]|#{1,6}|\[[ xX]?\]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))(?=\s))*\s*"
)
_NO_WORD = re.compile(r"[\W_]*")  # a rule, the borders of a table, an emoji
_FENCE = re.compile(r"(?:```|~~~)\w*")
_ROW = re.compile(r"\s*\|")
_BORDER = re.compile(r"\|")
_TAGS = (
    "address|article|aside|blockquote|body|br|button|caption|dd|div|dl|dt|figcaption|figure|footer"
    "|form|h[1-6]|head|header|hr|html|img|input|label|li|link|main|meta|nav|ol|option|p|pre"
    "|section|select|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul"
)
_BETWEEN = re.compile(rf"\t|</?(?:{_TAGS})(?:\s[^<>]*)?/?>|<!--.*?-->|<!DOCTYPE[^>]*>", re.I)


def language(text: str) -> Iterator[Span]:
    """The parts of each line between tags, tabs and the borders of cells, in order."""
    for line in _LINE.finditer(text):
        for start, end in _split(_BETWEEN, text, line.start(), line.end()):
            if _ROW.match(text, start, end):
                yield from _split(_BORDER, text, start, end)
            else:
                yield start, end


def _split(layout: re.Pattern[str], text: str, start: int, end: int) -> Iterator[Span]:
    """What lies between the matches."""
    for match in layout.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def after_mark(text: str, start: int, end: int) -> int:
    """Where the sentence begins: behind the marks of a list item or heading, if there are any."""
    found = _MARK.match(text, start, end)
    assert found is not None  # which may be empty
    return found.end()


def is_layout(sentence: str) -> bool:
    """Whether nothing is to be translated: no letter or digit, or the fence of a block of code."""
    return _NO_WORD.fullmatch(sentence) is not None or _FENCE.fullmatch(sentence) is not None
