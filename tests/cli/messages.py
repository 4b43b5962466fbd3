"""What a verb writes to standard error besides the line that names its engine."""

import re

ENGINE = re.compile(
    r"clearhead: engine: "
    r"(native \(C\), (float32|int8), [^\n]+ threads?|readable \(PyTorch\), \w+, because [^\n]+)\n"
)


def without_engine(err: str) -> str:
    """The text without that line, of which there is at most one."""
    return ENGINE.sub("", err, count=1)
