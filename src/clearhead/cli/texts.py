"""The texts that a verb reads: arguments, lines of a file or of standard input, FASTA records."""

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.pipelines.embedding import Named

Form = Literal["auto", "text", "fasta"]
STANDARD_INPUT = "standard input"


def check_texts(
    texts: list[str] | None,
    input: Path | None,
    name: str = "TEXT",
    expected: str = "a text file",
) -> None:
    """Refuse texts together with --input, and the name of a file that is given as a text."""
    if texts and input:
        raise UserError(f"both {name} and --input are given; give one of them")
    for text in texts or ():
        if text == "-":
            raise UserError(
                f"{name} is taken as it stands, - too; without it standard input is read"
            )
        if os.path.isfile(text):  # unlike Path.is_file, it accepts names of any length
            raise UserError(
                f"{text} is a file, and {name} is taken as it stands; "
                f"give --input {text} to have its lines read"
            )
    if input:
        check_file(str(input), expected)


def check_file(source: str, expected: str = "a text or FASTA file") -> None:
    """Refuse a file that cannot be read, before torch is imported; - is standard input."""
    path = Path(source)
    if source != "-" and not path.exists():
        raise UserError(
            f"cannot read {source}: no such file; expected {expected} in UTF-8, or - for "
            "standard input"
        )
    if path.is_dir():
        raise UserError(f"cannot read {source}: it is a directory; expected {expected}")


def text_chunks(texts: list[str] | None, input: Path | None, hint: str) -> Iterator[list[str]]:
    """The texts, a list at a time; on a terminal, `hint` is shown and lines are read."""
    from clearhead.data.lines import open_binary
    from clearhead.translation.lines import line_chunks

    if texts:
        yield texts
    elif input and str(input) != "-":
        with open_binary(input) as stream:
            yield from line_chunks(stream, str(input))
    elif sys.stdin.isatty():
        yield from _typed_lines(hint)
    else:
        yield from line_chunks(sys.stdin.buffer, STANDARD_INPUT)


def _typed_lines(hint: str) -> Iterator[list[str]]:
    """Lines from the keyboard; the prompt is not output, so it goes to standard error."""
    print(hint, file=sys.stderr)
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            print(file=sys.stderr)
            return
        yield [line.rstrip("\r\n")]


def named_texts(source: str, form: Form = "auto") -> "Iterator[Named]":
    """Every line with its number, or every sequence with its name, as they come.

    Raises:
        UserError: the file is no such thing; the line is named.
    """
    from clearhead.data.fasta import is_fasta
    from clearhead.data.lines import open_binary

    if source == "-":
        yield from _named(sys.stdin.buffer, STANDARD_INPUT, form)
        return
    with open_binary(source) as stream:
        known: Form = "fasta" if form == "auto" and is_fasta(source) else form
        yield from _named(stream, source, known)


def _named(stream: IO[bytes], origin: str, form: Form) -> "Iterator[Named]":
    from clearhead.data.fasta import read_fasta
    from clearhead.pipelines.embedding import Named
    from clearhead.translation.lines import line_chunks

    lines: Iterable[str] = chain.from_iterable(line_chunks(stream, origin))
    if form == "auto":
        every = iter(lines)
        first = next(every, None)
        form = "fasta" if first is not None and first.startswith(">") else "text"
        lines = [] if first is None else chain([first], every)
    if form == "fasta":
        for record in read_fasta(lines, origin):
            yield Named(record.name, record.sequence, record.header)
    else:
        for number, line in enumerate(lines, start=1):
            yield Named(str(number), line)
