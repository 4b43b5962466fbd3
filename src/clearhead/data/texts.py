"""From the value of `data.train` to a stream of texts in one language.

| value | texts |
|---|---|
| a file, perhaps with .gz | its paragraphs, separated by blank lines, or its lines |
| `grammar:[wide:]SPLIT:COUNT[:SEED]` | the English sentences of the built-in grammar |
| `measured:COUNT[:SEED]` | sentences whose probabilities are known (`weighted_english`) |
"""

import difflib
import os
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Literal

from clearhead.data.corpus import parse_grammar
from clearhead.data.lines import read_lines
from clearhead.data.pairs import is_blank
from clearhead.errors import UserError

Unit = Literal["paragraph", "line"]


class Texts:
    """Texts that can be read any number of times, always the same; blank ones are skipped.

    Raises:
        UserError: at once for a missing file or an unknown form; while iterating, for a file
            that cannot be read or holds no text.
    """

    def __init__(self, spec: str, unit: Unit = "paragraph") -> None:
        self.spec, self.unit = spec, unit
        if not spec.startswith(("grammar:", "measured:")):
            _check_file(spec)
        elif spec.startswith("grammar:"):
            parse_grammar(spec)
        else:
            parse_measured(spec)

    def __iter__(self) -> Iterator[str]:
        empty = True
        for text in self._read():
            empty = False
            yield text
        if empty:
            raise UserError(f"{self.spec} holds no text; expected at least one {self.unit}")

    def _read(self) -> Iterator[str]:
        if self.spec.startswith("grammar:"):
            yield from (pair.source for pair in parse_grammar(self.spec))
        elif self.spec.startswith("measured:"):
            yield from parse_measured(self.spec)
        elif self.unit == "line":
            yield from (line for line in read_lines(self.spec) if not is_blank(line))
        else:
            for blank, lines in groupby(read_lines(self.spec), is_blank):
                if not blank:
                    yield "\n".join(lines)


class Share:
    """The second of each `every` texts, for validation (`judged`), or all others, for training."""

    def __init__(self, texts: Iterable[str], every: int, judged: bool) -> None:
        self.texts, self.every, self.judged = texts, every, judged

    def __iter__(self) -> Iterator[str]:
        for number, text in enumerate(self.texts):
            if (number % self.every == 1) is self.judged:
                yield text


def parse_measured(spec: str) -> Iterable[str]:
    """Read `measured:COUNT[:SEED]`, for example `measured:100000`."""
    from clearhead.data.weighted_english import Measured

    numbers = spec.split(":")[1:]
    if len(numbers) not in (1, 2) or not all(n.isascii() and n.isdigit() for n in numbers):
        raise UserError(
            f"{spec}: expected measured:COUNT or measured:COUNT:SEED, for example measured:100000"
        )
    return Measured(*map(int, numbers))


def _check_file(spec: str) -> None:
    path = Path(spec)
    if not spec:
        raise UserError("data.train is empty; name a text, for example --set data.train=my.txt")
    if path.is_dir():
        raise UserError(f"{spec} is a directory, expected a text file")
    if not path.exists():
        try:
            near = difflib.get_close_matches(path.name, os.listdir(path.parent), n=1)
        except OSError:
            near = []
        hint = f"; did you mean {path.with_name(near[0])}?" if near else ""
        raise UserError(
            f"{spec} does not exist; expected a text file, grammar:SPLIT:COUNT or "
            f"measured:COUNT{hint}"
        )
