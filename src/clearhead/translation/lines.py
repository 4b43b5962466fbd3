"""Lines in, lines out: a stream of texts becomes lines of text, JSON objects or Moses n-best lists.

Lines are read as they come, so that a large file needs no large memory: a file gives many lines at
a time, which are translated together; a pipe that gives one line gets its translation at once.
Blocks of code are copied.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import IO, cast

from clearhead.data.lines import MOST_LINE, decode_line, too_long
from clearhead.decoding.engine import DecodingOptions
from clearhead.translation.documents import CodeBlocks
from clearhead.translation.result import BLANK, Translation, alignment_layer_of
from clearhead.translation.translator import Translator

CHUNK_BYTES = 1 << 18
FIRST_WINDOW, LAST_WINDOW = 32, 1024


def line_chunks(stream: IO[bytes], name: str) -> Iterator[list[str]]:
    r"""Lists of lines without their `\n` or `\r\n`; no other character ends a line.

    Raises:
        UserError: a line is not UTF-8 (`name`, line and byte are named), or is far too long.
    """
    rest, number = b"", 0
    # BufferedReader.read1: one call to the system, however little it gives.
    read = cast(Callable[[int], bytes], getattr(stream, "read1", stream.read))
    while block := read(CHUNK_BYTES):
        if b"\n" not in block:
            rest += block
            if len(rest) > MOST_LINE:
                raise too_long(f"{name}, line {number + 1}")
            continue
        *complete, rest = (rest + block).split(b"\n")
        numbered = enumerate(complete, start=number + 1)
        yield [decode_line(raw.removesuffix(b"\r"), name, line) for line, raw in numbered]
        number += len(complete)
    if rest:
        yield [decode_line(rest.removesuffix(b"\r"), name, number + 1)]


def windows(chunks: Iterable[list[str]]) -> Iterator[list[str]]:
    """The same lines in shorter lists, which double from FIRST_WINDOW to LAST_WINDOW lines.

    The first translations of a large file appear soon, and the later ones steadily; a list is
    never made longer, so a line from a pipe is translated as soon as it arrives.
    """
    size = FIRST_WINDOW
    for lines in chunks:
        start = 0
        while start < len(lines):
            yield lines[start : start + size]
            start, size = start + size, min(2 * size, LAST_WINDOW)


@dataclass(frozen=True)
class Shown:
    """What is written beside the text."""

    scores: bool = False
    alignments: bool = False
    doubt: bool = False


def as_text(number: int, source: str, best: list[Translation], shown: Shown) -> list[str]:
    """One translation a line: `score TAB translation ||| 0-0 1-2 TAB [doubt: low score]`.

    Only a doubtful translation is marked, and the line of a blank text stays blank.
    """
    return [
        (f"{t.score:.4f}\t" if shown.scores else "")
        + t.text
        + (f" ||| {pharaoh(t)}" if shown.alignments else "")
        + (f"\t[doubt: {'; '.join(t.doubt)}]" if shown.doubt and t.doubt and t.ids else "")
        for t in best
    ]


def as_moses(number: int, source: str, best: list[Translation], shown: Shown) -> list[str]:
    """The n-best list of Moses: `0 ||| translation ||| Score= -1.5 ||| -0.25`.

    The first number counts texts from 0, the second is the score, the third what translations
    were ranked by; the format always has them. Alignments and reasons for doubt are further
    columns: `||| 0-0 1-2 ||| low score`.
    """
    return [
        f"{number} ||| {_column(t.text)} ||| Score= {t.score:.4f} ||| {t.normalized:.4f}"
        + (f" ||| {pharaoh(t)}" if shown.alignments else "")
        + (f" ||| {'; '.join(t.doubt or ())}" if shown.doubt else "")
        for t in best
    ]


def as_jsonl(number: int, source: str, best: list[Translation], shown: Shown) -> list[str]:
    """One JSON object a text: source, translation, and all of the n-best with what was asked."""
    record = {
        "id": number,
        "source": source,
        "translation": best[0].text,
        "translations": [_entry(t, shown) for t in best],
    }
    return [json.dumps(record, ensure_ascii=False)]


def pharaoh(translation: Translation) -> str:
    """Word links as `0-0 1-2`: source word, target word, from 0."""
    return " ".join(f"{source}-{target}" for source, target in translation.alignment or ())


def _entry(translation: Translation, shown: Shown) -> dict[str, object]:
    entry: dict[str, object] = {"text": translation.text, "finished": translation.finished}
    if shown.scores:
        entry |= {
            "score": translation.score,
            "normalized": translation.normalized,
            "per_token": translation.per_token,
        }
    if shown.alignments:
        entry["alignment"] = pharaoh(translation)
    if shown.doubt:
        entry["doubt"] = list(translation.doubt or ())
    return entry


def _column(text: str) -> str:
    """One line, and the separator of columns escaped as Moses does."""
    return " ".join(text.split("\n")).replace("|||", "&#124;&#124;&#124;")


Format = Callable[[int, str, list[Translation], Shown], list[str]]
FORMATS: dict[str, Format] = {"text": as_text, "jsonl": as_jsonl, "moses": as_moses}


class Writer:
    """Called with one list of texts after the other; counts them from 0 through all the lists."""

    def __init__(
        self,
        translator: Translator,
        options: DecodingOptions,
        format: str = "text",
        shown: Shown | None = None,
        alignment_layer: int | None = None,
    ) -> None:
        self.translator, self.options = translator, options
        self.format, self.shown = FORMATS[format], shown or Shown()
        if alignment_layer is None:
            alignment_layer = alignment_layer_of(translator.engine.config.decoder_layers)
        self.layer = alignment_layer if self.shown.alignments else None
        self.number, self.is_code = 0, CodeBlocks()

    def __call__(self, texts: list[str]) -> bytes:
        """The lines for these texts, in UTF-8, each with its end; blocks of code are copied."""
        # Of a text of several lines the translator finds the blocks.
        code = ["\n" not in text and self.is_code(text) for text in texts]
        language = [text for text, copied in zip(texts, code, strict=True) if not copied]
        found = iter(
            self.translator.translate_detailed(language, self.options, self.layer, self.shown.doubt)
        )
        lines: list[str] = []
        for number, (text, copied) in enumerate(zip(texts, code, strict=True), self.number):
            best = [replace(BLANK, text=text)] * self.options.n_best if copied else next(found)
            lines += self.format(number, text, best, self.shown)
        self.number += len(texts)
        # Half a surrogate pair in a source has no UTF-8; in JSON its escape is what is meant.
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
