"""The texts that a verb reads, and where it writes.

Texts are arguments, lines of a file or of standard input, or FASTA records; results go to standard
output, a file or a pipe; messages to standard error. An interactive verb reads single keys.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Literal

from clearhead.errors import UserError, shell_command
from clearhead.files import atomic_save, is_same_file, is_special

if TYPE_CHECKING:
    from clearhead.pipelines.embedding import Named


Form = Literal["auto", "text", "fasta"]
STANDARD_INPUT = "standard input"
POLL_SECONDS = 0.25  # files are looked at as often: network drives have no file events


def check_texts(
    texts: list[str] | None, input: Path | None, name: str = "TEXT", expected: str = "a text file"
) -> None:
    """Refuse texts together with --input, the name of a file given as a text, and broken UTF-8."""
    if texts and input:
        raise UserError(f"both {name} and --input are given; give one of them")
    for text in texts or ():
        if text == "-":
            raise UserError(
                f"{name} '-' is not standard input; leave {name} out to read it, or give --input -"
            )
        if os.path.isfile(text):  # unlike Path.is_file, it accepts names of any length
            raise UserError(
                f"{text} is a file, but {name} must be the text itself; to read the file, give "
                f"--input {shell_command(text)}"
            )
        check_utf8(text, name)
    if input:
        check_file(str(input), expected)


def check_utf8(text: str | None, name: str) -> None:
    """Refuse an argument with bytes that are not UTF-8; Python has surrogates in their place."""
    try:
        (text or "").encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        byte = f"0x{code & 0xFF:02x}" if 0xDC80 <= code <= 0xDCFF else f"0x{code:04x}"
        raise UserError(
            f"{name}, character {error.start + 1}: {byte} is not valid UTF-8; "
            "give the text in UTF-8"
        ) from None


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
        line = sys.stdin.buffer.readline()
        if not line:
            print(file=sys.stderr)
            return
        try:
            yield [line.rstrip(b"\r\n").decode("utf-8")]
        except UnicodeDecodeError:
            raise UserError(
                "what was typed is not valid UTF-8; set the terminal to UTF-8"
            ) from None


def named_texts(source: str, form: Form = "auto") -> "Iterator[Named]":
    """Every line with its number, or every sequence with its name, as they come.

    Raises:
        UserError: the text does not have this form; the message names the line.
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


def or_stdout(output: Path | None) -> Path | None:
    """The path of --output; None, which means standard output, for - and /dev/stdout.

    Opened as a file, /dev/stdout would replace what stands in the file of `>> results.txt`.
    """
    return None if output in (Path("-"), Path("/dev/stdout")) else output


def only_file(output: Path | None) -> Path | None:
    """The file of --output, where standard output has other content."""
    if output == Path("-"):
        raise UserError("--output -: this command writes a file; give its name")
    return output


def check_output(output: Path | None, source: Path | str | None, *endings: str) -> None:
    """Refuse a directory, the source itself, and other endings, before torch is imported."""
    if output and output.is_dir():
        raise UserError(f"cannot write {output}: it is a directory; give the name of a file")
    if output and source and is_same_file(output, source):
        raise UserError(f"cannot write {output}: it is the input; give another file with --output")
    if output and output.suffix.lower() == ".gz" and not is_special(output):
        raise UserError(
            f"cannot write {output}: results are not compressed; give a name without .gz, or leave "
            "--output out and pipe them to gzip"
        )
    if output and endings and output.suffix.lower() not in endings and not is_special(output):
        names = " or ".join([", ".join(endings[:-1]), endings[-1]])
        raise UserError(f"cannot write {output}: unknown file extension; give a name with {names}")


def pour(parts: Iterable[bytes], output: Path | None) -> None:
    """Write each part to standard output as it comes; a file appears complete or not at all."""

    def write(file: BinaryIO) -> None:
        for part in parts:
            file.write(part)
            file.flush()

    if output and is_special(output):  # here too part by part
        with output.open("wb") as file:
            write(file)
    else:
        save(output, write)


def save(output: Path | None, write: Callable[[BinaryIO], None]) -> None:
    """Let `write` fill a file, which appears complete or not at all, or standard output."""

    def fill(path: Path) -> None:
        with path.open("wb") as file:
            write(file)

    if output is None:
        write(sys.stdout.buffer)
    else:
        atomic_save(output, fill)


def progress(line: str) -> None:
    """Report a step of a long computation on standard error."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def warnings_on_stderr(quiet: bool) -> Iterator[None]:
    """Print warnings of `clearhead` loggers, which engine runs, settings not applied, and progress.

    `quiet` leaves errors only.
    """
    logger = logging.getLogger("clearhead")
    informing = ("cli.translate", "native.choice", "pretrained.marian", "translation.translator")
    for name in informing:
        logging.getLogger(f"clearhead.{name}").setLevel(logging.INFO)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter())
    handler.setLevel(logging.ERROR if quiet else logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Formatter(logging.Formatter):
    """``clearhead: message``, and from warnings on their level before the message."""

    def format(self, record: logging.LogRecord) -> str:
        level = f"{record.levelname.lower()}: " if record.levelno > logging.INFO else ""
        return f"clearhead: {level}{record.getMessage()}"


@contextmanager
def keyboard() -> Iterator[Iterator[str]]:
    """Single keys without Enter; an empty string when none was pressed for a moment."""
    if sys.platform == "win32":
        yield _windows_keys()
        return
    import termios
    import tty

    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        yield _keys()
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def _keys() -> Iterator[str]:
    import select

    while True:
        ready, _, _ = select.select([sys.stdin], [], [], POLL_SECONDS)
        if not ready:
            yield ""
            continue
        key = os.read(sys.stdin.fileno(), 1)  # none: the terminal was closed
        yield key.decode("utf-8", "ignore").lower() if key else "q"


def _windows_keys() -> Iterator[str]:
    import msvcrt

    while True:
        time.sleep(POLL_SECONDS)
        pressed = msvcrt.kbhit()  # type: ignore[attr-defined,unused-ignore]
        yield msvcrt.getwch().lower() if pressed else ""  # type: ignore[attr-defined,unused-ignore]
