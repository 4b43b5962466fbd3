"""FASTA: what is written in it in many ways is one sequence; what is no sequence is an error."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.fasta import Record, is_fasta, read_fasta
from clearhead.data.lines import read_lines
from clearhead.errors import UserError

letters = st.text("ACDEFGHIKLMNPQRSTVWYXBZUO-.", min_size=1, max_size=90)
names = st.text("abcXYZ019|_.", min_size=1, max_size=12)


def read(text: str) -> list[Record]:
    return list(read_fasta(text.split("\n"), "some.fasta"))


@given(st.lists(st.tuples(names, letters), min_size=1, max_size=5), st.integers(1, 60))
def test_wrapped_lines_are_one_sequence(entries: list[tuple[str, str]], width: int) -> None:
    lines = []
    for name, sequence in entries:
        lines.append(f">{name} of something")
        lines += [sequence[i : i + width] for i in range(0, len(sequence), width)]
    found = read("\n".join(lines))
    assert [(one.name, one.sequence) for one in found] == entries
    assert all(one.header == f"{one.name} of something" for one in found)


def test_case_space_stop_and_empty_lines_do_not_count() -> None:
    assert read("\n>a\nmkT ay\n\n  i\tA \n>b\nMK*\n") == [
        Record("a", "a", "MKTAYIA"),
        Record("b", "b", "MK"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["x.fasta", "x.fa.gz"])
def test_windows_files_and_compressed_ones_are_read(tmp_path: Path, end: str, name: str) -> None:
    path, content = tmp_path / name, f">a b{end}MK{end}TA{end}".encode()
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert list(read_fasta(read_lines(path), name)) == [Record("a", "a b", "MKTA")]
    assert is_fasta(name) and not is_fasta("x.txt")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MKT\n>a\nMK", "line 1: 'MKT' has no header; expected a line '>name description'"),
        (">\nMK", "line 1: the header has no name"),
        (">a\n>b\nMK", "line 1: 'a' has no sequence"),
        (">a\nMK\n>b\n\n", "line 3: 'b' has no sequence"),
        (">a\n*", "line 1: 'a' has no sequence"),
        (">a\nMK\nM1K", r"line 3: '1' (letter 2) cannot be in a sequence"),
        (">a\nM*K", "line 2: '*' (letter 2) cannot be"),
        (">a\nMK*\nMK", "line 3: the sequence continues after '*'"),
        (">a\nMKÉ", "line 2: 'É' (letter 3)"),
        ("", "some.fasta holds no record"),
        ("\n\n", "some.fasta holds no record"),
    ],
)
def test_what_is_no_sequence_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        read(text)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_records_come_as_they_are_read() -> None:
    def lines():  # type: ignore[no-untyped-def]
        yield from (">a", "MK", ">b")
        pytest.fail("read too far")

    assert next(read_fasta(lines(), "endless")) == Record("a", "a", "MK")


@pytest.mark.parametrize("foreign", ["ß", "ı", "ſ", "ﬁ"])
def test_a_letter_that_only_upper_case_makes_a_base_is_refused(foreign: str) -> None:
    with pytest.raises(UserError, match=f"x.fa, line 2: '{foreign}' \\(letter 3\\) cannot be in"):
        list(read_fasta([">a", f"AC{foreign}T"], "x.fa"))
