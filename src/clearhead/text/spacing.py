"""One French spacing, so that a corpus typed by many hands teaches one habit."""

import re

# What typists put before ? ! : ; » and after «: a space, a no-break space, a narrow one.
_SPACE = "[ \u00a0\u202f]"
_NARROW = "\u202f"
_UNIFIED = re.compile(
    rf"(?<=«){_SPACE}(?=\S)"
    rf"|(?<=\S){_SPACE}(?=»)"
    # A sign ends something: white space, the end or a closing quotation mark follows. So
    # " :-)", " ;)", " :30", " != " and " ?id=3" are left alone, "(Quoi ?)" is not.
    rf"|(?<=\S){_SPACE}(?=[?!]+(?:[\s»”\"'’)\],.…]|$))"
    rf"|(?<=\S){_SPACE}(?=[:;](?:[\s»”\"]|$))"
)


def unify_french_spaces(text: str) -> str:
    """Make every space before ? ! : ; » and after « the narrow no-break space U+202F.

    Meant for French text. One space (U+0020, U+00A0 or U+202F) becomes another; none
    is added or taken away, so "Quoi?" stays as it is, and so do 12:30, http:// and
    " :-)". Applying it twice is applying it once.
    """
    return _UNIFIED.sub(_NARROW, text)
