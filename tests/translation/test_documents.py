"""Joining lines undoes the breaking of lines, and only that."""

import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.translation import Translator, join_lines
from clearhead.translation.documents import MOST_LINES, code_blocks, join_chunks
from clearhead.translation.markup import take_out
from clearhead.translation.result import _without_end

ROOT = Path(__file__).parents[2]
WORD = st.sampled_from(
    "the|cat|well-known|`a|b`|*bold*|(see)|3.5|ends.|Where?|<b>on</b>".split("|")  # noqa: SIM905
)
PARAGRAPH = st.lists(WORD, min_size=12, max_size=60).map(lambda words: "So " + " ".join(words))
# How a paragraph begins, and how its further lines do.
BEGINNINGS = st.sampled_from(
    [("", ""), ("- ", "  "), ("10. ", "    "), ("> ", "> "), (">> ", ">> "), ("* ", ""), (" ", " ")]
)
KEPT = st.sampled_from(
    [
        "# A heading of some words", "```python\na = 1\nb = 2\n```", "a\tb\nc\td", "Title\n=====",
        "| a | b |\n|---|---|\n| c | d |", '{"key": "The value"}', "one  \nbreak", "a\\\\\nb",
        "<ul>\n<li>One</li>\n<li>Two</li>\n</ul>", "\\section{The model}", "---\n***",
        "[1]: https://example.org", "1\n00:00:01,000 --> 00:00:02,000",
    ]
)  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, str]:
    """A document with lines broken at a width, and the same with a paragraph on each line."""
    broken, whole = [], []
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            broken.append(draw(KEPT))
            whole.append(broken[-1])
            continue
        (first, further), text = draw(BEGINNINGS), draw(PARAGRAPH)
        lines = textwrap.wrap(
            text, draw(st.integers(30, 90)), initial_indent=first, subsequent_indent=further
        )
        broken.append("\n".join(lines))
        whole.append(first + text)
    return "\n\n".join(broken), "\n\n".join(whole)


@given(documents())
def test_joining_undoes_breaking(document: tuple[str, str]) -> None:
    broken, whole = document
    assert join_lines(broken) == whole


@given(documents())
def test_a_text_without_broken_lines_stays_as_it_is(document: tuple[str, str]) -> None:
    assert join_lines(document[1]) == document[1]


@given(documents(), st.lists(st.integers(1, 9), min_size=1))
def test_lines_may_come_in_any_portions(document: tuple[str, str], sizes: list[int]) -> None:
    lines, chunks = document[0].split("\n"), list[list[str]]()
    while lines:
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(lines[:size])
        lines = lines[size:]
    assert "\n".join(line for part in join_chunks(chunks) for line in part) == document[1]


@given(st.text(alphabet="aB. \t\n>-#|\\`=*1<p>", max_size=120))
def test_no_character_but_spaces_and_marks_of_quotations_is_lost(text: str) -> None:
    def kept(text: str) -> str:
        return "".join(c for c in text if not c.isspace() and c != ">")

    assert kept(join_lines(text)) == kept(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He is a well-\nknown man.", "He is a well-known man."),
        ("> You wrote\n> this.\nI did\nnot.", "> You wrote this.\nI did not."),
        ("<p>It was\nlate.</p>\n<p>We\nslept.</p>", "<p>It was late.</p>\n<p>We slept.</p>"),
        ("- One\n- two\n  lines", "- One\n- two lines"),
        ("Read\n\\cite{a} and\n\\textbf{b} now.", "Read \\cite{a} and \\textbf{b} now."),
    ],
)
def test_a_mark_decides_where_a_paragraph_begins(text: str, expected: str) -> None:
    assert join_lines(text) == expected


def test_a_paragraph_without_end_is_cut_and_kept() -> None:
    text = "word\n" * (2 * MOST_LINES + 5)
    joined = join_lines(text)
    assert joined.split() == text.split() and len(joined.split("\n")) == 4


def test_a_complete_paragraph_does_not_wait_for_more() -> None:
    chunks = iter([["One", "line."], ["", "Two"]])
    assert next(join_chunks(chunks)) == ["One line.", ""]


def test_a_broken_sentence_is_translated_as_the_whole_one() -> None:
    translator = Translator.from_pretrained()
    whole = "My sister works in a small hospital near the station."
    assert translator.translate([join_lines(whole.replace("small ", "small\n"))]) == (
        translator.translate([whole])
    )


@pytest.mark.parametrize("path", ["README.md", "docs/course.md", "CHANGELOG.md"])
def test_joined_markdown_has_the_same_blocks(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    joined = join_lines(text)
    assert joined.split() == text.split() and join_lines(joined) == joined
    for mark in ("#", "- ", "|", "```", "<img"):
        count = [sum(line.startswith(mark) for line in t.split("\n")) for t in (text, joined)]
        assert count[0] == count[1]


def test_a_fence_with_windows_line_ends_is_closed() -> None:
    text = "Hello\r\n```\r\nx = 1\r\n```\r\nThe cat sleeps.\r\n"
    assert [text[slice(*span)] for span in code_blocks(text)] == ["```\r\nx = 1\r\n```\r"]
    assert (
        join_lines("Roses are red  \r\nviolets are blue") == "Roses are red  \r\nviolets are blue"
    )


@pytest.mark.parametrize(
    "text",
    ["\\cite{a}" * 60 + " shows this.", "The cat." + "\n" * 200_000 + "The dog.", "`x` " * 20_000],
)
def test_a_long_text_takes_no_more_than_linear_time(text: str) -> None:
    """The first took years, the others minutes."""
    began = time.process_time()
    take_out(text), join_lines(text), _without_end(text)
    assert time.process_time() - began < 20
