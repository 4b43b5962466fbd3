"""Streamed text is complete characters, ends before stop strings, and loses nothing."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.pipelines.text_generator import StopStrings, TextStream
from clearhead.text import PretrainedTokenizer, load_tokenizer
from tests.text import test_pretrained as files


@cache
def tokenizer() -> PretrainedTokenizer:
    with TemporaryDirectory() as folder:
        files.byte_level(Path(folder))
        return load_tokenizer(folder)


def pieces(ids: list[int], context: list[int]) -> list[str]:
    stream = TextStream(tokenizer(), context)
    return [*(stream.push(number) for number in ids), stream.finish()]


@given(st.text(max_size=40), st.text(max_size=5))
def test_pieces_joined_are_the_text_and_none_is_half_a_character(text: str, before: str) -> None:
    given = pieces(tokenizer().encode(text), tokenizer().encode(before))
    assert "".join(given) == text
    if "\ufffd" not in text:
        assert not any("\ufffd" in piece for piece in given)


@given(st.lists(st.integers(1, 255), max_size=30), st.lists(st.integers(1, 255), max_size=6))
def test_any_bytes_give_what_decoding_them_all_at_once_gives(
    ids: list[int], before: list[int]
) -> None:
    """Single bytes in any order: most of them are no UTF-8."""
    context = [*before, *tokenizer().encode("a")]
    assert "".join(pieces(ids, context)) == tokenizer().decode(ids)


def test_a_character_comes_with_its_last_byte() -> None:
    ids = tokenizer().encode("🙂")
    assert len(ids) == 4
    assert pieces([*ids, *tokenizer().encode("!")], []) == ["", "", "", "🙂", "!", ""]


def test_bytes_that_are_no_character_do_not_hold_up_what_follows() -> None:
    stray = tokenizer().encode("🙂")[1]  # a byte from the middle
    given = pieces([stray] * 5, [])
    assert [len(piece) for piece in given] == [0, 1, 1, 1, 1, 1]


def test_what_is_unfinished_at_the_end_is_said_at_the_end() -> None:
    assert pieces(tokenizer().encode("🙂")[:2], []) == ["", "", "\ufffd"]


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
