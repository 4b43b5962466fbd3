"""A text ends before a stop string, however it was cut, and never shows the beginning of one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.pipelines.stop_strings import StopStrings

SHORT = st.text("ab\n", max_size=30)


def shown(parts: list[str], strings: list[str]) -> tuple[list[str], bool]:
    stops = StopStrings(strings)
    return [*(stops.push(part) for part in parts), stops.finish()], stops.found


def expected(text: str, strings: list[str]) -> str:
    """By trying every end: the first at which some string is complete, and its beginning."""
    for end in range(1, len(text) + 1):
        begun = [end - len(s) for s in strings if text[:end].endswith(s)]
        if begun:
            return text[: min(begun)]
    return text


@given(SHORT, st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3), st.data())
def test_however_it_is_cut_the_same_is_shown(
    text: str, strings: list[str], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    found, stopped = shown(parts, strings)
    assert "".join(found) == expected(text, strings)
    assert stopped == any(string in text for string in strings)


@given(SHORT, st.lists(st.text("ab\n", min_size=1, max_size=4), min_size=1, max_size=3))
def test_what_was_shown_before_is_never_part_of_a_stop_string(
    text: str, strings: list[str]
) -> None:
    stops, so_far = StopStrings(strings), ""
    for character in text:
        so_far += stops.push(character)
        assert expected(text, strings).startswith(so_far)


def test_nothing_comes_after_a_stop_string() -> None:
    assert shown(["one E", "ND two", " three"], ["END"]) == (["one ", "", "", ""], True)


def test_a_beginning_that_leads_nowhere_is_shown_after_all() -> None:
    assert shown(["one E", "N", "d"], ["END"])[0] == ["one ", "", "ENd", ""]
    assert shown(["one EN"], ["END"])[0] == ["one ", "EN"]


def test_an_empty_stop_string_is_an_error() -> None:
    with pytest.raises(UserError, match="a stop string is empty"):
        StopStrings(["END", ""])
