"""A heading in capitals is read as an ordinary sentence, and its translation set in capitals.

WHERE IS THE STATION? shares hardly a piece with the sentences that a model learned from; letter
by letter it is a language of its own. How a word is usually written, the tokenizer knows: in the
form that takes the fewest pieces. So Mary keeps her capital, and a model that learned from
nothing but capitals gets its capitals. Of two forms with as many pieces the small letters are
right more often: "She" begins sentences.
"""

import re
from collections.abc import Callable

Encode = Callable[[list[str]], list[list[int]]]


def in_capitals(sentence: str) -> bool:
    """More than one word and no small letter; a word alone may be a name such as NATO."""
    return sentence.isupper() and len(sentence.split()) > 1


def as_usual(sentence: str, encode: Encode) -> str:
    """The same sentence, every word as it is mostly written; a capital begins it."""
    forms = sorted({form for word in sentence.split() for form in _forms(word)})
    pieces = dict(zip(forms, map(len, encode(forms)), strict=True))
    usual = re.sub(r"\S+", lambda word: min(_forms(word[0]), key=pieces.__getitem__), sentence)
    return _with_a_capital(re.sub(r"\bi\b", "I", usual))


def _forms(word: str) -> tuple[str, str, str]:
    """mary, Mary, MARY: of equals the first is taken."""
    small = word.lower()
    return small, _with_a_capital(small), word


def _with_a_capital(text: str) -> str:
    return re.sub(r"[^\W\d_]", lambda letter: letter[0].upper(), text, count=1)
