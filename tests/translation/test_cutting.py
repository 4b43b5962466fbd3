import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.translation.cutting import cut


@given(st.text(min_size=1).map(str.strip).filter(bool), st.integers(1, 12))
def test_parts_fit_and_only_whitespace_lies_between_them(text: str, room: int) -> None:
    end = 0
    for start, stop in cut(text, (0, len(text)), lambda part: len(part) <= room):
        assert 0 < stop - start <= room
        assert text[end:start].strip() == ""
        end = stop
    assert end == len(text)


def parts(text: str, room: int) -> list[str]:
    spans = cut(text, (0, len(text)), lambda part: len(part) <= room)
    return [text[start:end] for start, end in spans]


def test_a_clause_ends_before_a_word_and_a_word_before_a_letter() -> None:
    assert parts("one two, three four five", 15) == ["one two,", "three four five"]
    assert parts("one two three four", 12) == ["one two", "three four"]
    assert parts("abcdefgh", 4) == ["abcd", "efgh"]


def test_what_fits_is_left_alone() -> None:
    assert parts("one, two", 8) == ["one, two"]


def test_a_character_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(UserError, match="single character 'a'"):
        cut("abc", (0, 3), lambda part: False)
