"""Generated text: its record, seeds, stop strings, and decoding token by token."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clearhead.decoding.generation import Ending
from clearhead.errors import UserError
from clearhead.text import PretrainedTokenizer

UNFINISHED = "\ufffd"  # decoded from incomplete or invalid bytes
CONTEXT = 4


@dataclass(frozen=True)
class Generated:
    """The continuation of a prompt; the same options and `seed` reproduce it."""

    prompt: str
    text: str
    ending: Ending
    tokens: int
    seed: int


class Piece(NamedTuple):
    """New characters of one of the texts; the last piece of a text has its ending."""

    text: int
    new: str
    ending: Ending | None
    tokens: int


def fresh_seed() -> int:
    """A random seed."""
    return secrets.randbelow(2**31)


def check_seeds(seeds: Sequence[int]) -> None:
    """Refuse negative seeds, which Python's generator treats as their absolute value."""
    for seed in seeds:
        if seed < 0:
            raise UserError(f"seed={seed} is below 0; give a whole number of at least 0")


class StopStrings:
    """Ends a text before the first stop string; `push` returns the characters before it.

    Characters that may be the beginning of a stop string are held back until that is decided. Of
    several stop strings the one that is complete first counts, and among those the one that began
    first. The result does not depend on how the text is divided into pieces.

    Raises:
        UserError: a stop string is empty.
    """

    def __init__(self, strings: Sequence[str]) -> None:
        if isinstance(strings, str):
            strings = [strings]
        if "" in strings:
            raise UserError("a stop string is empty; give at least one character, or leave it out")
        self.strings = tuple(strings)
        self.waiting = ""
        self.found = False

    def push(self, text: str) -> str:
        """The characters that are certain; none after a stop string."""
        if self.found:
            return ""
        self.waiting += text
        hits = [
            (start + len(s), start) for s in self.strings if (start := self.waiting.find(s)) >= 0
        ]
        if hits:
            self.found = True
            shown, self.waiting = self.waiting[: min(hits)[1]], ""
            return shown
        keep = max((_beginning(self.waiting, s) for s in self.strings), default=0)
        cut = len(self.waiting) - keep
        shown, self.waiting = self.waiting[:cut], self.waiting[cut:]
        return shown

    def finish(self) -> str:
        """The characters held back, when the text is complete."""
        shown, self.waiting = self.waiting, ""
        return shown


def _beginning(text: str, string: str) -> int:
    """The number of characters at the end of a text that begin a string."""
    longest = min(len(text), len(string) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(string[:n])), 0)


class TextStream:
    """Decodes ids one by one; `push` returns the characters that are certain.

    A character may consist of several tokens (byte-level vocabularies split UTF-8 anywhere), so an
    incomplete last one is held back; `finish` returns it. All results together are the decoding of
    all ids. The last ids before them, `context`, are decoded too, since some tokenizers omit the
    space before the first token.
    """

    def __init__(self, tokenizer: PretrainedTokenizer, context: Sequence[int] = ()) -> None:
        self.tokenizer = tokenizer
        self.before, self.new = list(context[-CONTEXT:]), list[int]()
        self.given = 0  # characters of `new`

    def push(self, token_id: int) -> str:
        """The characters that are certain, possibly none."""
        self.new.append(token_id)
        text = self._text()
        certain = text[:-1] if text.endswith(UNFINISHED) else text
        fresh, self.given = certain[self.given :], len(certain)
        if certain and certain == text:  # complete: earlier ids are not needed
            self.before, self.new, self.given = self.new[-CONTEXT:], [], 0
        return fresh

    def finish(self) -> str:
        """The characters held back."""
        fresh = self._text()[self.given :]
        self.before, self.new, self.given = self.new[-CONTEXT:], [], 0
        return fresh

    def _text(self) -> str:
        """The text of `new` alone."""
        known = self.tokenizer.decode(self.before)
        return self.tokenizer.decode([*self.before, *self.new])[len(known) :]
