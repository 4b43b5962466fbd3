"""Where English sentences end.

A translator trained on sentences does best on one at a time. The answer is a
list of spans into the text, so nothing can get lost: what stands between two
spans is whitespace and goes into the translation as it is.
"""

import re

Span = tuple[int, int]

# Never the end of a sentence, for a name or an example follows.
_TITLES = re.compile(
    r"(?i:mr|mrs|ms|mx|dr|prof|st|mt|gen|col|maj|capt|cmdr|lt|sgt|adm|rev|fr|hon|pres|gov|sen|rep"
    r"|supt|e\.g|i\.e|cf|viz|vs|v|ca|approx|esp)"
)
# An abbreviation only where a number follows: "No. 5", but "No. I will not."
_BEFORE_NUMBERS = re.compile(
    r"(?i:nos?|nr|figs?|vols?|pp?|art|sec|ch|eq|para"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
# "J. R. R. Tolkien", "the U.S. Army"; the pronoun I is a word.
_INITIALS = re.compile(r"(?:[A-HJ-Z]|(?:[A-Z]\.)+[A-Z])")
_ENDING = re.compile(r"""([^\s"“‘(\[«]*?)([.!?…]+)["'”’»)\]]*$""")
_BEGINNING = re.compile(r"""["'“‘«(\[¿¡–—-]*(\w)""")
_LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_VIEW = 60  # characters on either side that decide


def sentence_spans(text: str) -> list[Span]:
    """The (start, end) of every sentence; all that lies outside them is whitespace.

    A sentence ends at a line break, or at . ! ? … (and closing quotes) before
    whitespace and something that does not begin in lower case; titles,
    initials, abbreviations before numbers and decimals end nothing.
    """
    spans = []
    start = 0
    for gap in re.finditer(r"\s+", text):
        at_edge = gap.start() == 0 or gap.end() == len(text)
        if at_edge or _is_border(text, gap.start(), gap.end()):
            if start < gap.start():
                spans.append((start, gap.start()))
            start = gap.end()
    if start < len(text):
        spans.append((start, len(text)))
    return spans


def _is_border(text: str, end: int, following: int) -> bool:
    if not _LINE_BREAKS.isdisjoint(text[end:following]):
        return True
    ending = _ENDING.search(text[max(0, end - _VIEW) : end])
    beginning = _BEGINNING.match(text[following : following + _VIEW])
    if not ending or not beginning or beginning[1].islower():
        return False
    word, mark = ending[1], ending[2]
    return mark != "." or not _is_abbreviation(word, beginning[1].isdigit())


def _is_abbreviation(word: str, number_follows: bool) -> bool:
    kinds = [_TITLES, _INITIALS, *([_BEFORE_NUMBERS] if number_follows else [])]
    return any(kind.fullmatch(word) for kind in kinds)
