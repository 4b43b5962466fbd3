"""Ids in, whole characters out, nothing taken back and nothing lost."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from clearhead.pipelines.text_stream import TextStream
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
