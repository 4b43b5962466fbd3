"""Random permutations, batches of similar length, and positions to resume from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.ordering import Permutation, ResumableBatches, by_length, sorted_batches
from clearhead.errors import UserError


@given(size=st.integers(1, 3_000), seed=st.integers(-(2**70), 2**70))
def test_every_index_occurs_exactly_once(size: int, seed: int) -> None:
    order = Permutation(size, seed)(np.arange(size))
    assert np.array_equal(np.sort(order), np.arange(size))


def test_a_large_range_is_permuted_without_repetition() -> None:
    size = 300_001
    assert len(np.unique(Permutation(size, 1)(np.arange(size)))) == size


@given(size=st.integers(1, 10**12), seed=st.integers(0, 100), data=st.data())
def test_a_part_is_the_same_as_in_the_whole(size: int, seed: int, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=20))
    together = Permutation(size, seed)(np.array(positions))
    alone = [int(Permutation(size, seed)(np.array([p]))[0]) for p in positions]
    assert together.tolist() == alone
    assert together.min() >= 0
    assert together.max() < size


def test_another_seed_is_another_order() -> None:
    orders = {
        tuple(Permutation(50, *seeds)(np.arange(50))) for seeds in [(0,), (1,), (0, 0), (0, 1)]
    }
    assert len(orders) == 4


def test_every_index_reaches_every_position_equally_often() -> None:
    size, tries = 11, 4_000
    counts = np.zeros((size, size))
    for seed in range(tries):
        counts[np.arange(size), Permutation(size, seed)(np.arange(size))] += 1
    expected = tries / size
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    degrees = (size - 1) ** 2
    assert abs(chi_squared - degrees) < 5 * np.sqrt(2 * degrees)


def test_neighbours_are_separated() -> None:
    size = 20_000
    order = Permutation(size, 7)(np.arange(size))
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.05
    assert abs(np.corrcoef(order, np.arange(size))[0, 1]) < 0.05


@pytest.mark.parametrize("position", [-1, 10])
def test_a_position_outside_the_range_is_refused(position: int) -> None:
    with pytest.raises(IndexError, match="range\\(10\\)"):
        Permutation(10, 0)(np.array([position]))


LENGTHS = st.lists(st.integers(0, 50), max_size=80)


@given(lengths=LENGTHS, max_tokens=st.integers(1, 200), most=st.none() | st.integers(1, 9))
def test_results_can_be_restored_to_the_original_order(
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


class Numbers(ResumableBatches[int]):
    """Numbers from `index` on, whose order depends on a seed."""

    def __init__(self, seed: int) -> None:
        self.seed, self.epoch, self.index = seed, 0, 0

    def __next__(self) -> int:
        self.index += 1
        return self.index + self.seed

    def _settings(self) -> dict[str, int]:
        return {"seed": self.seed}


def test_a_position_is_refused_when_a_setting_of_its_order_has_changed() -> None:
    state = {"epoch": 0, "index": 7, "seed": 3}
    same, other = Numbers(3), Numbers(4)
    same.restore(state)
    assert same.state() == state and next(same) == 11
    with pytest.raises(UserError, match=r"cannot resume .*: seed was 3 and is 4 now; resume with"):
        other.restore(state)
    assert other.index == 0
