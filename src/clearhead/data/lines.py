"""Lines of a text file, read so that two languages stay aligned.

`str.splitlines` and text mode would also split on U+2028, U+0085 and lone
carriage returns, which are ordinary characters inside a sentence: from the
first of them on, each line would be paired with the wrong translation. So bytes
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

MOST_LINE = 1 << 26
"""Maximum bytes of a line; a file without line ends would fill the memory."""
UTF8_BOM = b"\xef\xbb\xbf"
UTF16 = re.compile(rb"\xff\xfe|\xfe\xff|(?:[^\0]\0){2}|(?:\0[^\0]){2}")  # its mark, or ASCII
_LINE_FEEDS = re.compile(r"(?<![ \t])[ \t]*[\r\n]+[ \t\r\n]*")


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file without their ends; memory holds one line.

    The `\\r` of a `\\r\\n` end and a byte order mark at the start are dropped; every
    other character, no-break spaces included, stays. The last line needs no `\\n`.
    A file whose name ends with `.gz` is decompressed.

    Raises:
        UserError: the file cannot be read, is not UTF-8 (with line and byte), or has a line
            of more than MOST_LINE bytes.
    """
    with open_binary(path) as stream:
        for number, raw in enumerate(iter(lambda: stream.readline(MOST_LINE + 1), b""), start=1):
            if len(raw) > MOST_LINE:
                raise too_long(f"{path}, line {number}")
            if number > 1 or raw != UTF8_BOM:
                line = raw[:-2] if raw.endswith(b"\r\n") else raw.removesuffix(b"\n")
                yield decode_line(line, path, number)


def too_long(place: str) -> UserError:
    """The error for a line that is longer than any text."""
    return UserError(
        f"{place}: more than {MOST_LINE >> 20} MB without a line end; expected a text file with a "
        "sentence or a paragraph on each line: break it into lines"
    )


@contextmanager
def open_binary(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file, or the content of a `.gz` file, for reading bytes.

    Raises:
        UserError: the file is missing, unreadable, or a damaged gzip file, even if
            that is noticed only while the caller reads.
    """
    try:
        with _plain_or_gzip(Path(path)) as stream:
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(
            f"{path} is not a complete gzip file ({error}); download or compress it again"
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


def decode_line(raw: bytes, path: str | Path, number: int) -> str:
    """The text of a line, without a byte order mark at the start of the file.

    Raises:
        UserError: it is not UTF-8; file, line and byte are named.
    """
    if number == 1:
        if UTF16.match(raw + b"\n"):  # its end, too: one character would not suffice
            raise UserError(
                f"{path}, line 1, byte 0: the file is UTF-16, expected UTF-8; save it as UTF-8 "
                f"in an editor, or with: iconv -f UTF-16 -t UTF-8"
            )
        raw = raw.removeprefix(UTF8_BOM)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}, line {number}, byte {error.start + 1} of the line: "
            f"0x{raw[error.start]:02x} is not valid UTF-8; save the file as UTF-8 in an editor, "
            f"or with: iconv -f LATIN1 -t UTF-8"
        ) from None
