import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.lines import one_line, read_lines
from clearhead.errors import UserError

ANY_LINE = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))


def lines_of(content: bytes, directory: Path, name: str = "file") -> list[str]:
    path = directory / name
    path.write_bytes(content)
    return list(read_lines(path))


@given(lines=st.lists(ANY_LINE.filter(lambda line: not line.endswith("\r"))))
def test_only_the_line_feed_ends_a_line(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = "".join(line + "\n" for line in ["first", *lines]).encode()
    found = lines_of(content, tmp_path_factory.mktemp("lines"))
    assert found == ["first", *lines]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\nb", ["a", "b"]),
        (b"\n\n", ["", ""]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        ("Ça va\u00a0? «\u202foui\u202f»\n".encode(), ["Ça va\u00a0? «\u202foui\u202f»"]),
        ("one\u2028line\x85\x0b\x0c\n".encode(), ["one\u2028line\x85\x0b\x0c"]),
    ],
)
def test_line_hygiene(content: bytes, lines: list[str], tmp_path: Path) -> None:
    assert lines_of(content, tmp_path) == lines
    assert lines_of(gzip.compress(content), tmp_path, "file.gz") == lines


@given(before=st.lists(ANY_LINE), start=ANY_LINE)
def test_invalid_utf8_is_named_by_file_line_and_byte(
    before: list[str], start: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    good = "".join(line + "\n" for line in before).encode() + start.encode()
    with pytest.raises(UserError) as caught:
        lines_of(good + b"\xe9t\xe9\n", tmp_path_factory.mktemp("lines"), "old.txt")
    where = f"old.txt, line {len(before) + 1}, byte {len(start.encode()) + 1} of the line: 0xe9"
    assert where in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_byte_is_counted_from_the_start_of_the_line_after_the_mark(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="line 1, byte 2 of the line: 0xff"):
        lines_of(b"\xef\xbb\xbfa\xff\n", tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_named(encoding: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is UTF-16, expected UTF-8"):
        lines_of("\ufeffa\tb\n".encode(encoding), tmp_path)


@pytest.mark.parametrize("damage", [slice(0, -9), slice(0, 30), slice(2, None)])
def test_a_damaged_gzip_file_is_one_line(damage: slice, tmp_path: Path) -> None:
    content = gzip.compress(bytes(range(97, 123)) * 50)[damage]
    with pytest.raises(UserError, match=r"file\.gz is not a complete gzip file"):
        lines_of(content, tmp_path, "file.gz")


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*No such file"):
        list(read_lines(tmp_path / "none"))
    with pytest.raises(UserError, match=r"cannot read .*directory"):
        list(read_lines(tmp_path))


def test_line_feeds_inside_a_text_become_spaces() -> None:
    assert one_line("a \r\n\t b\n") == "a b"
    assert one_line("a\u00a0\u2028b ") == "a\u00a0\u2028b "


def test_utf16_without_a_mark_is_named_by_its_zero_bytes(tmp_path: Path) -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        with pytest.raises(UserError, match="the file is UTF-16"):
            lines_of("a cat".encode(encoding), tmp_path)
    assert lines_of(b"\0\n\0a\n", tmp_path) == ["\0", "\0a"]
