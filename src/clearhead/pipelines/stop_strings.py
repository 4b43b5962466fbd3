"""Ends a text before the first of some strings, and never shows the beginning of one."""

from collections.abc import Sequence

from clearhead.errors import UserError


class StopStrings:
    """`push` text as it comes, get what is certainly before every stop string.

    What might be the beginning of one waits for the characters that decide it. Of several
    the one that is complete first ends the text, and of those the one that began first. How
    the text was cut into pieces changes nothing.

    Raises:
        UserError: an empty string would end every text before it begins.
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
        """What may be shown; nothing after a stop string was found."""
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
        """No more text comes: what was waiting is no stop string."""
        shown, self.waiting = self.waiting, ""
        return shown


def _beginning(text: str, string: str) -> int:
    """How many of the last characters of a text begin a string."""
    longest = min(len(text), len(string) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(string[:n])), 0)
