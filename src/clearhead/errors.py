"""The one exception that a user may see as a line of text, and counts in such lines.

Every message says three things: what was given, what was expected, what to do.
The command line prints it as one line and exits with code 2; Python callers
catch it as an ordinary `ValueError`.
"""

DIFFERENT_MODELS = "the two files belong to different models; copy the model directory again"


class UserError(ValueError):
    """Something the user gave cannot be used; the message is the whole answer."""


def counted(count: int, noun: str) -> str:
    """`1 line`, `1,234 lines`: a number and its noun, for messages."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
