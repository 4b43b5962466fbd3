import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.sorting import by_length, sorted_batches

LENGTHS = st.lists(st.integers(0, 50), max_size=80)


@given(lengths=LENGTHS, max_tokens=st.integers(1, 200), most=st.none() | st.integers(1, 9))
def test_results_can_be_put_back_in_the_original_order(
    lengths: list[int], max_tokens: int, most: int | None
) -> None:
    restored = np.full(len(lengths), -1)
    for batch in sorted_batches(lengths, max_tokens, most):
        restored[batch] = [lengths[i] for i in batch]
    assert restored.tolist() == lengths


@given(lengths=LENGTHS, max_tokens=st.integers(1, 200), most=st.none() | st.integers(1, 9))
def test_batches_descend_in_length_and_keep_to_the_limits(
    lengths: list[int], max_tokens: int, most: int | None
) -> None:
    batches = sorted_batches(lengths, max_tokens, most)
    in_order = [lengths[i] for batch in batches for i in batch]
    assert in_order == sorted(lengths, reverse=True)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= max_tokens
        assert most is None or len(batch) <= most


@given(pairs=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=60))
def test_the_longer_side_ascends(pairs: list[tuple[int, int]]) -> None:
    sources, targets = np.array(pairs).T
    order = by_length(sources, targets)
    longest = np.maximum(sources, targets)[order]
    assert sorted(order.tolist()) == list(range(len(pairs)))
    assert (np.diff(longest) >= 0).all()
