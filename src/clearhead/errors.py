"""The one exception that a user may see as a line of text; counts, lists and commands in it.

Every message says three things: what was given, what was expected, what to do.
The command line prints it as one line and exits with code 2; Python callers
catch it as an ordinary `ValueError`.
"""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

DIFFERENT_MODELS = "the two files belong to different models; copy the model directory again"


class UserError(ValueError):
    """Something the user gave cannot be used; the message is the whole answer."""


def counted(count: int, noun: str) -> str:
    """`1 line`, `1,234 lines`: a number and its noun, for messages."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int = 10) -> str:
    """`a, b, c`, or the first `most` names and an ellipsis, for messages."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def shell_command(*words: str | Path) -> str:
    """The words of a command as they are typed here; cmd of Windows has no single quotes."""
    if os.name != "nt":
        return shlex.join(map(str, words))
    from subprocess import list2cmdline  # a slow import

    return list2cmdline(map(str, words))
