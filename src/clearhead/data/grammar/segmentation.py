"""The words that alignments refer to: punctuation and elided words stand alone."""

import re

# An elision only at the start of a word, or the t' of "don't" would be one too.
_WORD = re.compile(
    r"""
      \b aujourd['’]hui \b             # one word in spite of its apostrophe
    | \w+ n['’]t \b                    # don't, isn't
    | \b (?: qu | [cdjlmnst] ) ['’]    # qu', l', n', s'
    | ['’]s \b                         # Paul's -> Paul + 's
    | \w+ (?: - \w+ )*                 # grand-mère, est-ce
    | [^\w\s]                          # punctuation
    """,
    re.VERBOSE | re.IGNORECASE,
)


def word_spans(text: str) -> list[tuple[int, int]]:
    """The (start, end) character offsets of every word of `text`, in order."""
    return [match.span() for match in _WORD.finditer(text)]


def words(text: str) -> list[str]:
    """The words of `text`: `"L'ami n'a pas"` is `["L'", "ami", "n'", "a", "pas"]`."""
    return _WORD.findall(text)
