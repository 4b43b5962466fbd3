"""Lines of a text file, read the one way that keeps two languages in step.

`str.splitlines` and text mode would also split on U+2028, U+0085 and lone
carriage returns, which are ordinary characters inside a sentence: after the
first of them every following line would meet the wrong translation. So bytes
are split on `\\n` alone, and only then decoded.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from clearhead.errors import UserError

UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_LINE_FEEDS = re.compile(r"[ \t]*[\r\n]+[ \t\r\n]*")


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file without their ends; memory holds one line.

    The `\\r` of a `\\r\\n` end and a byte order mark at the start are dropped; every
    other character, no-break spaces included, stays. A last line needs no `\\n`.
    A name that ends with `.gz` is decompressed on the way.

    Raises:
        UserError: the file cannot be read, or is not UTF-8 (with line and byte).
    """
    offset = 0
    with open_binary(path) as stream:
        for number, raw in enumerate(stream, start=1):
            start = offset
            offset += len(raw)
            if number == 1:
                _refuse_utf16(path, raw)
                if raw.startswith(UTF8_BOM):
                    raw = raw.removeprefix(UTF8_BOM)
                    start += len(UTF8_BOM)
                if not raw:
                    return
            yield _decode(_without_end(raw), path, number, start)


@contextmanager
def open_binary(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file, or what a `.gz` file holds, for reading bytes.

    Raises:
        UserError: the file is missing, unreadable, or a broken gzip file; also
            when that shows only while the caller is reading.
    """
    try:
        with _plain_or_gzip(Path(path)) as stream:
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(
            f"{path} is not a whole gzip file ({error}); download or compress it again"
        ) from error
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror or error}; expected a readable text file"
        ) from error


def one_line(text: str) -> str:
    """Turn line feeds inside a text, and the blanks around them, into single spaces."""
    return _LINE_FEEDS.sub(" ", text).strip(" ") if "\n" in text or "\r" in text else text


def _plain_or_gzip(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def _without_end(raw: bytes) -> bytes:
    if raw.endswith(b"\r\n"):
        return raw[:-2]
    return raw[:-1] if raw.endswith(b"\n") else raw


def _decode(raw: bytes, path: str | Path, number: int, start: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}, line {number}, byte {start + error.start}: "
            f"0x{raw[error.start]:02x} is not valid UTF-8; save the file as UTF-8 "
            f"(for example: iconv -f LATIN1 -t UTF-8)"
        ) from None


def _refuse_utf16(path: str | Path, first: bytes) -> None:
    if first.startswith(UTF16_BOMS):
        raise UserError(
            f"{path}, line 1, byte 0: the file is UTF-16, expected UTF-8; "
            f"convert it (for example: iconv -f UTF-16 -t UTF-8)"
        )
