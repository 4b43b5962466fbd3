"""Rows with named columns, whatever file they come from, and one line for what is wrong."""

import gzip
import json
from pathlib import Path

import pytest

from clearhead.data.table import column, read_table, text_of
from clearhead.errors import UserError


def write(path: Path, content: str | bytes) -> Path:
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


SAME = {
    "a.csv": 'text,label\n"one, ""two""",x\nthree\u2028,y\n',
    "a.tsv": 'text\tlabel\none, "two"\tx\nthree\u2028\ty\n',
    "crlf.csv": 'text,label\r\n"one, ""two""",x\r\n\r\nthree\u2028,y',
    "bom.tsv": '\ufefftext\tlabel\none, "two"\tx\n\nthree\u2028\ty',
    "b.csv.gz": 'text,label\n"one, ""two""",x\nthree\u2028,y\n',
    "a.jsonl": json.dumps({"text": 'one, "two"', "label": "x"})
    + "\n\n"
    + json.dumps({"text": "three\u2028", "label": "y"}),
}


@pytest.mark.parametrize("name", SAME)
def test_every_form_holds_the_same_rows(name: str, tmp_path: Path) -> None:
    rows = list(read_table(write(tmp_path / name, SAME[name])))
    assert [row.values for row in rows] == [
        {"text": 'one, "two"', "label": "x"},
        {"text": "three\u2028", "label": "y"},
    ]


def test_a_carriage_return_inside_a_line_of_tsv_is_an_ordinary_character(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", "text\tlabel\none\rtwo\tx\n")
    assert [row.values for row in read_table(file)] == [{"text": "one\rtwo", "label": "x"}]


def test_a_place_is_the_line_in_the_file_where_the_row_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'text,label\n"two\nlines",x\n\nthree,y\n')
    places = [row.place.rsplit(" ", 1)[1] for row in read_table(path)]
    assert places == ["3", "5"]


def test_json_numbers_and_truth_values_are_labels_too(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a", "label": 3}\n{"text": "b", "label": true}')
    assert [text_of(row, "label") for row in read_table(path)] == ["3", "true"]


def test_an_unknown_column_is_named_with_those_that_there_are(tmp_path: Path) -> None:
    (row,) = read_table(write(tmp_path / "a.csv", "sequence,label\nACGT,1\n"))
    with pytest.raises(UserError, match=r"no column 'text'; choose among sequence, label with"):
        column(row, "text")


def test_a_column_in_other_letters_is_named_and_a_file_without_header_is_explained(
    tmp_path: Path,
) -> None:
    (row,) = read_table(write(tmp_path / "a.csv", "\nText,label\na,b\n"))
    with pytest.raises(UserError, match=r"line 2: .*\(did you mean 'Text'\?\)"):
        column(row, "text")
    (row,) = read_table(write(tmp_path / "b.csv", "The street was awful.,neg\nGood.,pos\n"))
    with pytest.raises(UserError, match="begins with a line of column names"):
        column(row, "text")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,label\none,two,x\n", r"line 2: 3 columns where the header names 2"),
        ("a.tsv", "text\tlabel\none\n", r"line 2: 1 column where the header names 2"),
        ("a.csv", "text,text\none,x\n", r"line 1: the header 'text', 'text' does not name"),
        ("a.csv", "text,\none,x\n", r"line 1: the header 'text', '' does not name"),
        ("a.csv", ",A,B\nc1,0,2\n", r"line 1: .*; save a matrix of cells by genes as \.h5ad"),
        ("a.csv", "a;b\nc;d\n", r"line 1: ';' seems to separate the columns; expected a comma"),
        ("a.csv", "a\tb\nc\td\n", r"line 1: '\\t' seems to separate .* a tab in \.tsv"),
        ("a.csv", 'text,label\n"open,x\n', r"line 2: not CSV .*quote texts with commas"),
        ("a.jsonl", '{"text": \n', r"line 1, column 10: not JSON"),
        ("a.jsonl", '["a", 1]\n', r"line 1: not a JSON object"),
        ("a.xlsx", "text", r"unknown file extension, expected \.csv, \.tsv, \.jsonl"),
        ("a.csv", b"text,label\n\xe9,x\n", r"line 2, byte 1 of the line: 0xe9 is not valid UTF-8"),
    ],
)
def test_bad_files_cost_one_line(
    name: str, content: str | bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        list(read_table(write(tmp_path / name, content)))
    assert "\n" not in str(caught.value)


def test_a_message_names_a_few_of_many_columns(tmp_path: Path) -> None:
    genes = [f"G{number}" for number in range(20_000)]
    for header, cells in ((["", *genes], 3), (["cell", *genes], 3)):
        path = write(tmp_path / "a.csv", ",".join(header) + "\n" + ",".join("1" * cells) + "\n")
        with pytest.raises(UserError, match=r"G5\b.*, …") as caught:
            list(read_table(path))
        assert len(str(caught.value)) < 400 + len(str(path))


def test_half_of_a_surrogate_pair_is_refused_and_a_whole_one_is_a_character(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="line 1: half of a surrogate pair"):
        list(read_table(write(tmp_path / "a.jsonl", r'{"text": "a \ud800 b"}')))
    (row,) = read_table(write(tmp_path / "b.jsonl", r'{"text": "a \ud83d\ude00 b"}'))
    assert text_of(row, "text") == "a 😀 b"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": null}', r"'text' holds nothing, expected a text"),
        ('{"text": ["a"]}', r"'text' holds a value of type list, expected a text"),
        ('{"text": 0.5}', r"'text' holds a value of type float, expected a text"),
        ('{"text": " "}', r"'text' is empty; fill it in"),
    ],
)
def test_what_is_no_text_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (row,) = read_table(write(tmp_path / "a.jsonl", content))
    with pytest.raises(UserError, match=message):
        text_of(row, "text")


@pytest.mark.parametrize("name", ["long.csv", "long.tsv"])
def test_a_cell_may_hold_more_characters_than_a_page(name: str, tmp_path: Path) -> None:
    """By default Python's csv module refuses more than 131,072."""
    text = "ACGT" * 40_000
    separator = "," if name.endswith("csv") else "\t"
    path = write(tmp_path / name, f"text{separator}label\n{text}{separator}x\n")
    assert [row.values["text"] for row in read_table(path)] == [text]
