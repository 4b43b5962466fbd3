"""Lines from a stream as they come, so that a large file needs no large memory.

A chunk is what has arrived: a file gives many lines at a time, which are
translated together; a pipe that gives one line gets its answer at once.
"""

from collections.abc import Callable, Iterator
from typing import IO, cast

from clearhead.errors import UserError

CHUNK_BYTES = 1 << 18
_BOM = b"\xef\xbb\xbf"


def line_chunks(stream: IO[bytes], name: str) -> Iterator[list[str]]:
    r"""Lists of lines without their `\n` or `\r\n`; no other character ends a line.

    Raises:
        UserError: a line is not UTF-8 (`name`, line and byte are named).
    """
    rest, number = b"", 0
    # BufferedReader.read1: one call to the system, however little it gives.
    read = cast(Callable[[int], bytes], getattr(stream, "read1", stream.read))
    while block := read(CHUNK_BYTES):
        if b"\n" not in block:
            rest += block
            continue
        *complete, rest = (rest + block).split(b"\n")
        yield [_decoded(raw, name, number + i) for i, raw in enumerate(complete, start=1)]
        number += len(complete)
    if rest:
        yield [_decoded(rest, name, number + 1)]


def _decoded(raw: bytes, name: str, number: int) -> str:
    raw = raw.removesuffix(b"\r")
    if number == 1:
        raw = raw.removeprefix(_BOM)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}, line {number}, byte {error.start + 1} of the line: 0x{raw[error.start]:02x} "
            "is not valid UTF-8; save the file as UTF-8 (for example: iconv -f LATIN1 -t UTF-8)"
        ) from None
