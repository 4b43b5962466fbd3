"""FASTA: records of a line `>name description` and a sequence on one or several lines.

The reader is strict, because a misread sequence produces plausible results. Letters are converted
to upper case (lower case only marks repeats), white space inside a sequence is ignored, and one
`*` at its end, the stop of translation, is dropped. Any other character than letters, `-` and `.`
is an error.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clearhead.errors import UserError

ENDINGS = (".fasta", ".fa", ".faa", ".fas", ".fna", ".ffn")
_FOREIGN = re.compile(r"[^A-Za-z.-]")
_FORM = "expected a line '>name description', then lines of letters"


class Record(NamedTuple):
    """One entry: the first word of its header, the whole header, its sequence."""

    name: str
    header: str
    sequence: str


def is_fasta(name: str) -> bool:
    """True for the file names of FASTA, compressed or not."""
    return name.removesuffix(".gz").lower().endswith(ENDINGS)


def read_fasta(lines: Iterable[str], origin: str) -> Iterator[Record]:
    """The records of lines without their ends, one at a time; `origin` names them in errors.

    Raises:
        UserError: while iterating: a sequence without a header, a header without a name or a
            sequence, a character that cannot be in a sequence. The message names the line.
    """
    header, started, parts = "", 0, list[str]()
    number = 0
    for number, line in enumerate(lines, start=1):
        if line.startswith(">"):
            if started:
                yield _record(header, parts, f"{origin}, line {started}")
            header, started, parts = line[1:].strip(), number, []
            if not header:
                raise UserError(f"{origin}, line {number}: the header has no name; {_FORM}")
        elif letters := "".join(line.split()):
            if not started:
                raise UserError(f"{origin}, line {number}: {line[:30]!r} has no header; {_FORM}")
            _check_stop(parts, f"{origin}, line {number}")
            parts.append(_checked(letters, f"{origin}, line {number}").upper())
    if not started:
        raise UserError(f"{origin} holds no record; {_FORM}")
    yield _record(header, parts, f"{origin}, line {started}")


def _record(header: str, parts: list[str], place: str) -> Record:
    name, sequence = header.split()[0], "".join(parts).removesuffix("*")
    if not sequence:
        raise UserError(f"{place}: {name!r} has no sequence; {_FORM}")
    return Record(name, header, sequence)


def _checked(letters: str, place: str) -> str:
    if found := _FOREIGN.search(letters.removesuffix("*")):
        raise UserError(
            f"{place}: {found[0]!r} (letter {found.start() + 1}) cannot be in a "
            "sequence; expected letters, '-', '.', and '*' only at the end"
        )
    return letters


def _check_stop(parts: list[str], place: str) -> None:
    if parts and parts[-1].endswith("*"):
        raise UserError(f"{place}: the sequence continues after '*'; expected '*' only at the end")
