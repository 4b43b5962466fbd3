"""Ids that come one by one, as text that never has to be taken back."""

from collections.abc import Sequence

from clearhead.text import PretrainedTokenizer

UNFINISHED = "\ufffd"  # what bytes become that are no character, or not yet
CONTEXT = 4


class TextStream:
    """`push` an id, get the characters that are certain now.

    A character may be several tokens (byte-level vocabularies cut UTF-8 anywhere), so the last
    one waits while its bytes could still become another; `finish` gives what waits. All that is
    given, joined, is what the tokenizer makes of all ids. A few ids before them, `context`, are
    decoded along: some tokenizers write a first token without the space before it.
    """

    def __init__(self, tokenizer: PretrainedTokenizer, context: Sequence[int] = ()) -> None:
        self.tokenizer = tokenizer
        self.before, self.new = list(context[-CONTEXT:]), list[int]()
        self.given = 0  # characters of `new`

    def push(self, token_id: int) -> str:
        """What can be said now, perhaps nothing."""
        self.new.append(token_id)
        text = self._text()
        certain = text[:-1] if text.endswith(UNFINISHED) else text
        fresh, self.given = certain[self.given :], len(certain)
        if certain and certain == text:  # a clean cut: forget what was before
            self.before, self.new, self.given = self.new[-CONTEXT:], [], 0
        return fresh

    def finish(self) -> str:
        """What was waiting."""
        fresh = self._text()[self.given :]
        self.before, self.new, self.given = self.new[-CONTEXT:], [], 0
        return fresh

    def _text(self) -> str:
        """Of `new` alone."""
        known = self.tokenizer.decode(self.before)
        return self.tokenizer.decode([*self.before, *self.new])[len(known) :]
