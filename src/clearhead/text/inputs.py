"""Texts before they are tokenized: checked, valid Unicode, and with one kind of French spacing."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from clearhead.errors import UserError

_SPACES = str.maketrans("\t\r\n", "   ")
# The spaces that people type before ? ! : ; » and after «: U+0020, no-break, narrow no-break.
_SPACE = "[ \u00a0\u202f]"
_NARROW = "\u202f"
_UNIFIED = re.compile(
    rf"(?<=«){_SPACE}(?=\S)"
    rf"|(?<=\S){_SPACE}(?=»)"
    # The mark ends something: white space, the end or a closing quotation mark follows. So
    # " :-)", " ;)", " :30", " != " and " ?id=3" are unchanged, "(Quoi ?)" is not.
    rf"|(?<=\S){_SPACE}(?=[?!]+(?:[\s»”\"'’)\],.…]|$))"
    rf"|(?<=\S){_SPACE}(?=[:;](?:[\s»”\"]|$))"
)


def is_french(language: str) -> bool:
    """Whether a name of a language means French: fr, fr-CA, fra, French."""
    return re.match(r"fr(a|e|ench)?(?![a-z])", language, re.IGNORECASE) is not None


def texts_of(inputs: Any) -> list[str]:
    """The inputs of a call as a list: a single text, or several.

    Raises:
        UserError: neither a text nor a list, tuple or other iterable of texts.
    """
    if isinstance(inputs, str):
        return [inputs]
    if not isinstance(inputs, Iterable):
        kind = "None" if inputs is None else f"of type {type(inputs).__name__}"
        raise UserError(f"the input is {kind}; expected a text or a list of texts")
    return check_texts(inputs)


def check_texts(texts: Any) -> list[str]:
    """The texts as a list, each a `str`.

    Raises:
        UserError: no list or other iterable, or one of them is no text; the message has the index
            of the first.
    """
    if isinstance(texts, str):
        raise UserError("expected a list of texts, got one str; write [text]")
    if not isinstance(texts, Iterable) or isinstance(texts, Mapping):  # it would give its keys
        kind = "None" if texts is None else f"of type {type(texts).__name__}"
        raise UserError(f"the input is {kind}; expected a list of texts")
    texts = list(texts)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            kind = "None" if text is None else f"of type {type(text).__name__}"
            raise UserError(f"text {number} is {kind}; expected a str: give a list of texts")
    return texts


def without_lone_surrogates(text: str) -> str:
    """Replace halves of UTF-16 surrogate pairs, which UTF-8 cannot encode, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def as_cell(text: str) -> str:
    """With spaces for tabs and line breaks, which would end a cell of a TSV file."""
    return text.translate(_SPACES)


def unify_french_spaces(text: str) -> str:
    """Make every space before ? ! : ; » and after « the narrow no-break space U+202F.

    Meant for French text, so that a corpus of many typists has one kind of spacing. One space
    (U+0020, U+00A0 or U+202F) replaces another; none is added or removed, so "Quoi?" is
    unchanged, and so are 12:30, http:// and " :-)". Applying it twice is the same as once.
    """
    return _UNIFIED.sub(_NARROW, text)
