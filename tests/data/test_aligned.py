from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.aligned import AlignedPairs
from clearhead.errors import UserError


def two_files(directory: Path, sources: int, targets: int) -> AlignedPairs:
    names = directory / "a.en", directory / "a.fr"
    for name, count in zip(names, (sources, targets), strict=True):
        name.write_text("".join(f"{i}\n" for i in range(count)), encoding="utf-8")
    return AlignedPairs(*names)


@given(counts=st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_counts_that_differ_are_both_said_and_where_the_shorter_ends(
    counts: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    pairs = two_files(tmp_path_factory.mktemp("two"), *counts)
    if counts[0] == counts[1]:
        assert list(pairs) == [(str(i), str(i)) for i in range(counts[0])]
        return
    with pytest.raises(UserError) as caught:
        list(pairs)
    message = str(caught.value)
    assert f"a.en has {counts[0]} lines" in message
    assert f"a.fr has {counts[1]}," in message
    shorter = "a.en" if counts[0] < counts[1] else "a.fr"
    assert f"{shorter} ends after line {min(counts)};" in message


def test_a_line_separator_inside_a_line_moves_no_other_line(tmp_path: Path) -> None:
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
