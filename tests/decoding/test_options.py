import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.decoding import DecodingOptions
from clearhead.errors import UserError


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"beam_size": 0}, "beam_size=0"),
        ({"beam_size": 2.5}, "beam_size=2.5"),
        ({"n_best": 5}, "n_best=5 is more than beam_size=4"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram=-1"),
        ({"min_length": -1}, "min_length=-1"),
        ({"max_length": 1}, "max_length=1 leaves no room for min_length=1"),
        ({"max_length_factor": -1.0}, "max_length_factor=-1.0"),
        ({"length_penalty": float("nan")}, "length_penalty=nan"),
        ({"batch_tokens": 0}, "batch_tokens=0"),
    ],
)
def test_a_number_outside_its_range_is_named(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        DecodingOptions(**wrong)


@given(st.integers(1, 600), st.integers(0, 50), st.integers(1, 512))
def test_the_limit_leaves_room_for_the_least_and_never_exceeds_the_positions(
    src_len: int, least: int, positions: int
) -> None:
    limit = DecodingOptions(min_length=least).limit(src_len, positions)
    assert 1 <= limit <= positions
    assert limit > least or limit == positions
