import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.translation.lines import line_chunks


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


LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n"))


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
