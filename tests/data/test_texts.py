"""A text file is read as paragraphs or lines; what is wrong with it is one line."""

import gzip
from pathlib import Path

import pytest

from clearhead.data.corpus import Share, Texts, Unit
from clearhead.data.grammar import generate
from clearhead.errors import UserError

BOOK = "\n\nOne\u2028line\nand another  \n\n \n\tTwo, it's « so »\r\n\nThree"


def write(path: Path, content: bytes) -> str:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


@pytest.mark.parametrize("name", ["book.txt", "book.txt.gz", "no extension"])
def test_paragraphs_are_what_stands_between_blank_lines(name: str, tmp_path: Path) -> None:
    texts = Texts(write(tmp_path / name, BOOK.encode()))
    expected = ["One\u2028line\nand another  ", "\tTwo, it's « so »", "Three"]
    assert list(texts) == expected == list(texts)


def test_lines_are_lines_and_blank_ones_are_none(tmp_path: Path) -> None:
    texts = Texts(write(tmp_path / "book.txt", BOOK.encode()), "line")
    assert list(texts) == ["One\u2028line", "and another  ", "\tTwo, it's « so »", "Three"]


def test_grammars_are_texts() -> None:
    stream = generate("dev", 4)
    assert list(Texts("grammar:dev:3:4")) == [next(stream).source for _ in range(3)]
    assert len(list(Texts("measured:4"))) == 4


@pytest.mark.parametrize("share", [0.001, 0.05, 0.1, 0.3, 1 / 3, 0.4, 0.5])
@pytest.mark.parametrize("count", [2, 7, 41, 2000])
def test_what_is_held_out_and_what_is_learned_are_all_and_disjoint(
    count: int, share: float
) -> None:
    texts = [str(i) for i in range(count)]
    judged, learned = (list(Share(texts, share, judged)) for judged in (True, False))
    assert sorted(judged + learned) == sorted(texts)
    assert abs(len(judged) - share * count) <= 1 and judged[0] == "1"
    assert share != 0.05 or judged == texts[1::20]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "data.train is empty"),
        (".", "is a directory"),
        ("missing.txt", "missing.txt does not exist; expected a text file"),
        ("measured:many", "expected measured:COUNT"),
        ("measured:1:2:3", "expected measured:COUNT"),
        ("grammar:train", "expected grammar:SPLIT:COUNT"),
    ],
)
def test_what_is_no_text_is_refused_at_once(spec: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        Texts(spec)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_utf_8_is_one_line(tmp_path: Path) -> None:
    texts = Texts(write(tmp_path / "latin.txt", "fine\n\ndéjà vu\n".encode("latin-1")))
    with pytest.raises(UserError, match="line 3, byte 2 of the line: 0xe9 is not valid UTF-8"):
        list(texts)


@pytest.mark.parametrize("content", ["", "\n \n\t\n", "\ufeff"])
@pytest.mark.parametrize("unit", ["paragraph", "line"])
def test_an_empty_text_file_is_named(content: str, unit: Unit, tmp_path: Path) -> None:
    texts = Texts(write(tmp_path / "empty.txt", content.encode()), unit)
    with pytest.raises(UserError, match=rf"empty\.txt holds no text; expected .* {unit}$"):
        list(texts)


def test_texts_joined_with_plus_follow_each_other(tmp_path: Path) -> None:
    one, two = (write(tmp_path / f"{name}.txt", b"%s\n\nend\n" % name.encode()) for name in "ab")
    joined = f"{one} + {two} + grammar:train:3"
    assert list(Texts(joined)) == ["a", "end", "b", "end", *Texts("grammar:train:3")]
    with pytest.raises(UserError, match=r"c\.txt does not exist"):
        Texts(f"{one} + {tmp_path / 'c.txt'}")
