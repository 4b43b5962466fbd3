"""What a verb writes to standard error besides the line that names its engine."""

import re

ENGINE = re.compile(r"clearhead: (native, (float32|int8), [^\n]+ threads?|readable, \w+: [^\n]+)\n")


def without_engine(err: str) -> str:
    """The text without that line, of which there is at most one."""
    return ENGINE.sub("", err, count=1)
