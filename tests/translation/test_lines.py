"""Lines come in as they arrive, and go out as text, JSON or Moses n-best lists."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.decoding import DecodingOptions
from clearhead.errors import UserError
from clearhead.translation.lines import FORMATS, Shown, Writer, line_chunks
from clearhead.translation.result import Translation
from tests.translation.tiny import translator


class Drops(io.RawIOBase):
    """A stream that gives only a few bytes at a time."""

    def __init__(self, content: bytes, size: int) -> None:
        self.rest, self.size = content, size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        given, self.rest = self.rest[: self.size], self.rest[self.size :]
        return given


def lines(content: bytes, size: int = 1 << 20) -> list[str]:
    chunks = line_chunks(Drops(content, size), "x.txt")  # type: ignore[arg-type]
    return [line for chunk in chunks for line in chunk]


# Not the zero bytes of UTF-16.
LINE = st.text(st.characters(codec="utf-8", exclude_characters="\0\n"))


@given(st.lists(LINE), st.booleans(), st.integers(1, 9))
def test_only_line_feeds_end_lines_however_the_bytes_arrive(
    texts: list[str], ended: bool, size: int
) -> None:
    content = "\n".join(texts).encode() + b"\n" * (ended and bool(texts))
    expected = content.decode().removeprefix("\ufeff").split("\n")
    expected = [line.removesuffix("\r") for line in expected]
    if not expected[-1] and not content.endswith(b"\r"):
        expected.pop()
    assert lines(content, size) == expected


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_is_named_with_the_command_that_converts_it(encoding: str) -> None:
    content = ("" if encoding == "utf-16" else "\ufeff") + "Hi.\nBye.\n"
    with pytest.raises(UserError, match=r"is UTF-16, expected UTF-8; .*iconv -f UTF-16"):
        lines(content.encode(encoding))


def test_windows_ends_marks_and_a_missing_last_end() -> None:
    content = b"\xef\xbb\xbfone\r\n\r\ntwo\xe2\x80\xa8still two\nthree"
    assert lines(content) == ["one", "", "two\u2028still two", "three"]
    assert lines(b"") == []
    assert lines(b"\n") == [""]


def test_what_arrives_is_given_on_at_once() -> None:
    chunks = line_chunks(Drops(b"a\nb\nc\n", 2), "x.txt")  # type: ignore[arg-type]
    assert list(chunks) == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("size", [1, 1000])
def test_bytes_that_are_not_utf8_are_named_by_line_and_byte(size: int) -> None:
    with pytest.raises(UserError, match=r"x.txt, line 3, byte 3 of the line: 0xff"):
        lines(b"one\n\nab\xffc\n", size)


BEST = [
    Translation("Bonjour.", -1.5, -0.5, True, ((5, 6),), ((0, 0),), (), -0.5),
    Translation(
        "Salut\nà toi",
        -2.5,
        -0.75,
        False,
        ((7,),),
        ((0, 0), (0, 1)),
        ("low score", "name Ada missing"),
        -1.25,
    ),
]
ALL, NOTHING = Shown(scores=True, alignments=True), Shown()
DOUBT = Shown(doubt=True)


def test_text_is_the_translation_and_what_was_asked_for() -> None:
    assert FORMATS["text"](4, "Hi.", BEST[:1], NOTHING) == ["Bonjour."]
    assert FORMATS["text"](4, "Hi.", BEST[:1], ALL) == ["-1.5000\tBonjour. ||| 0-0"]


def test_moses_counts_texts_and_keeps_one_line_each() -> None:
    assert FORMATS["moses"](4, "Hi.", BEST, ALL) == [
        "4 ||| Bonjour. ||| Score= -1.5000 ||| -0.5000 ||| 0-0",
        "4 ||| Salut à toi ||| Score= -2.5000 ||| -0.7500 ||| 0-0 0-1",
    ]


def test_a_bar_in_a_translation_adds_no_column_to_the_list_of_moses() -> None:
    best = [Translation("a ||| b | c", -1.5, -0.5, True, ((5,),))]
    (line,) = FORMATS["moses"](0, "a ||| b | c", best, NOTHING)
    assert line.split(" ||| ")[1:3] == ["a &#124;&#124;&#124; b | c", "Score= -1.5000"]


def test_jsonl_is_one_object_a_text_with_all_its_translations() -> None:
    (line,) = FORMATS["jsonl"](4, "Hi «.", BEST, ALL)
    assert "\n" not in line
    assert "«" in line
    assert json.loads(line) == {
        "id": 4,
        "source": "Hi «.",
        "translation": "Bonjour.",
        "translations": [
            {
                "text": "Bonjour.",
                "finished": True,
                "score": -1.5,
                "normalized": -0.5,
                "per_token": -0.5,
                "alignment": "0-0",
            },
            {
                "text": "Salut\nà toi",
                "finished": False,
                "score": -2.5,
                "normalized": -0.75,
                "per_token": -1.25,
                "alignment": "0-0 0-1",
            },
        ],
    }
    (bare,) = FORMATS["jsonl"](0, "Hi.", BEST[:1], NOTHING)
    assert json.loads(bare)["translations"] == [{"text": "Bonjour.", "finished": True}]


def test_the_reasons_for_doubt_survive_json() -> None:
    (line,) = FORMATS["jsonl"](4, "Hi.", BEST, DOUBT)
    found = [tuple(entry["doubt"]) for entry in json.loads(line)["translations"]]
    assert found == [t.doubt for t in BEST]


def test_text_marks_only_what_is_doubtful() -> None:
    assert FORMATS["text"](4, "Hi.", BEST, DOUBT) == [
        "Bonjour.",
        "Salut\nà toi\t[doubt: low score; name Ada missing]",
    ]
    blank = Translation("", 0.0, 0.0, True, (), doubt=("no words",))
    assert FORMATS["text"](4, "", [blank], DOUBT) == [""]


def test_moses_has_a_column_of_doubt_even_if_empty() -> None:
    columns = [line.split(" ||| ")[4] for line in FORMATS["moses"](4, "Hi.", BEST, DOUBT)]
    assert columns == ["", "low score; name Ada missing"]


def test_half_a_surrogate_pair_does_no_harm() -> None:
    write = Writer(translator(), DecodingOptions(beam_size=1, max_length=5), "jsonl")
    assert json.loads(write(["a\udc80b"]))["source"] == "a\udc80b"


def test_fenced_code_is_copied_through_all_lists_of_lines() -> None:
    write = Writer(translator(), DecodingOptions(beam_size=1, max_length=6, n_best=1))
    fence = ["Hello", "```py", "Hello  ", "", "~~~", "``` not the end"]
    copied = "".join(f"{line}\n" for line in fence[1:]).encode()
    hello = write(["Hello"])
    assert write(fence) == hello + copied
    assert write(["Hello", "```", "Hello"]) == b"Hello\n```\n" + hello


def test_a_line_of_tildes_below_a_heading_is_no_fence() -> None:
    write, heading = Writer(translator(), DecodingOptions()), ["Hello", "~~~~~", "", "Hello"]
    hello = write(["Hello"]).decode()
    assert write(heading).decode() == f"{hello}~~~~~\n\n{hello}"
    assert translator().translate(["\n".join(heading)]) == [f"{hello}~~~~~\n\n{hello}".rstrip()]


@pytest.mark.parametrize(
    "block",
    [
        ["- ```sh", "  Hello", "  ```"],
        ["<pre class=x>", "Hello", "</PRE> Hello"],
        ["<script>", "Hello", "</script>"],
        ["<!-- Hello", "Hello", "-->"],
        ['<div class="highlight"><pre>', "Hello", "</pre></div>"],
        ["<head><script src='x'></script><script>", "Hello", "</script>"],
        ["<style>", "</style><script>", "Hello", "</script>"],
        [r"\begin{align*}", r"  \begin{pmatrix} Hello \end{pmatrix}", r"\end{align*}"],
        [r"  \begin{verbatim}", "", "Hello", r"  \end{verbatim}"],
        [r"\[", "  Hello", r"  Hello \]"],
        ["  $$", "Hello", "$$"],
        ["#+BEGIN_SRC python", "Hello", "", "#+end_src"],
        [".. code-block:: python", "   :linenos:", "", "   Hello", "", "   Hello", ""],
    ],
)
def test_a_block_of_code_or_a_comment_ends_where_it_is_closed(block: list[str]) -> None:
    write = Writer(translator(), DecodingOptions())
    hello = write(["Hello"])
    assert write(block[:2]) + write(block[2:]) == "".join(f"{line}\n" for line in block).encode()
    assert write(["Hello"]) == hello
    (whole,) = translator().translate(["\n".join(["Hello", *block, "Hello"])])
    assert whole.split("\n") == [hello.decode().strip(), *block, hello.decode().strip()]


@pytest.mark.parametrize(
    "lines",
    [
        ["Hello", "", "[source,sh]", "----", "code", "----", "Hello"],  # AsciiDoc
        ["Hello", "----", "Hello", "", "----", "Hello"],  # Markdown: a heading and a rule
        ["---", "", "Hello", "---", "Hello"],  # Markdown: two rules
        ["---", "title: Hello", "code: code", "tags:", "  - code", "---", "Hello"],
        ["Hello::", "", "    code", "  code", "", "Hello"],  # reStructuredText
        ["  Hello::", "", "      code", "  Hello"],
        [".. note:: Hello", "    Hello", ":param x: Hello", "== Hello", "#+TITLE: Hello"],
        [r"\begin{itemize}", r"\begin{equation} code \end{equation}", "Hello"],
        [r"  \item Hello", r"\item[code] Hello", r"\section*{Hello}"],
        [
            r"\newcommand{\code}{\x{code}} % code",
            r"  \centering \includegraphics{code}",
            r"Hello \\[2pt]",
        ],
    ],
)
def test_only_what_belongs_to_the_block_is_copied(lines: list[str]) -> None:
    options = DecodingOptions(beam_size=1, max_length=6, n_best=1)
    hello = Writer(translator(), options)(["Hello"]).decode().strip()
    translated = [line.replace("Hello", hello) for line in lines]
    copied = Writer(translator(), options)(lines).decode().splitlines()
    assert [a for a, b in zip(copied, lines, strict=True) if "Hello" in b or "code" in b] == [
        a for a, b in zip(translated, lines, strict=True) if "Hello" in b or "code" in b
    ]


@pytest.mark.parametrize(
    "text",
    [
        ".. image:: a.png\n\nHello",
        "\\begin{equation}\nx = 1\n\\end{equation}\nHello",
        "```\nx\n```\nHello",
    ],
)
def test_a_text_of_several_lines_is_translated_around_its_code(text: str) -> None:
    options = DecodingOptions(beam_size=1, max_length=6, n_best=1)
    write = Writer(translator(), options)
    expected = translator().translate_detailed([text], options)[0][0].text
    assert write([text]).decode() == f"{expected}\n"
    assert expected != text and write(["Hello"]) == Writer(translator(), options)(["Hello"])
