"""Pairs in plain text: columns, aligned lines, and where an error is."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.pairs import AlignedPairs, TsvPairs
from clearhead.errors import UserError


@pytest.mark.parametrize(
    ("row", "found"), [("one column", "1 column,"), ("1\ta\t2\tb", "4 columns,")]
)
def test_a_wrong_number_of_columns_is_reported_with_file_and_line(
    row: str, found: str, tmp_path: Path
) -> None:
    path = tmp_path / "p.tsv"
    path.write_text(f"a\tb\n\n{row}\n", encoding="utf-8")
    with pytest.raises(UserError, match=rf"p\.tsv, line 3: {found} expected"):
        list(TsvPairs(path))


def test_blank_lines_are_skipped_and_the_attribution_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    path.write_text("\n  \na\tb\tCC-BY\n", encoding="utf-8")
    assert list(TsvPairs(path)) == [("a", "b")]


def two_files(directory: Path, sources: int, targets: int) -> AlignedPairs:
    names = directory / "a.en", directory / "a.fr"
    for name, count in zip(names, (sources, targets), strict=True):
        name.write_text("".join(f"{i}\n" for i in range(count)), encoding="utf-8")
    return AlignedPairs(*names)


@given(counts=st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_unequal_line_counts_are_reported_with_the_end_of_the_shorter_file(
    counts: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    pairs = two_files(tmp_path_factory.mktemp("two"), *counts)
    if counts[0] == counts[1]:
        assert list(pairs.rows()) == [(str(i), str(i)) for i in range(counts[0])]
        return
    with pytest.raises(UserError) as caught:
        list(pairs)
    message = str(caught.value)
    assert f"a.en has {counts[0]} lines" in message
    assert f"a.fr has {counts[1]}," in message
    shorter = "a.en" if counts[0] < counts[1] else "a.fr"
    assert f"{shorter} ends after line {min(counts)};" in message


def test_a_line_separator_inside_a_line_shifts_no_other_line(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_bytes("one\u2028more\ntwo".encode())
    (tmp_path / "a.fr").write_bytes(b"un\r\ndeux\r\n")
    pairs = AlignedPairs(tmp_path / "a.en", tmp_path / "a.fr")
    assert list(pairs) == [("one\u2028more", "un"), ("two", "deux")]


def test_a_blank_line_is_an_empty_side(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_bytes(b"a\n\nc\n")
    (tmp_path / "a.fr").write_bytes(b"A\nB\nC\n")
    pairs = AlignedPairs(tmp_path / "a.en", tmp_path / "a.fr")
    assert list(pairs) == [("a", "A"), ("c", "C")]
    assert pairs.dropped == 1
