from hypothesis import given
from hypothesis import strategies as st

from clearhead.decoding.batching import streams

LENGTHS = st.lists(st.integers(1, 60), max_size=40)


@given(LENGTHS, st.integers(1, 200), st.one_of(st.none(), st.integers(1, 9)), st.booleans())
def test_every_sentence_is_in_exactly_one_stream_longest_first(
    lengths: list[int], batch_tokens: int, most: int | None, refilled: bool
) -> None:
    found = list(streams(lengths, batch_tokens, most, refilled))
    order = [i for _, stream in found for i in stream]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[i] for i in order] == sorted(lengths, reverse=True)


@given(LENGTHS, st.integers(1, 200), st.one_of(st.none(), st.integers(1, 9)), st.booleans())
def test_the_places_keep_to_the_budget_or_are_one(
    lengths: list[int], batch_tokens: int, most: int | None, refilled: bool
) -> None:
    for places, stream in streams(lengths, batch_tokens, most, refilled):
        assert 1 <= places <= len(stream)
        assert places == 1 or places * lengths[stream[0]] <= batch_tokens
        assert most is None or places <= most
        assert refilled or places == len(stream)
