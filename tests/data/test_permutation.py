import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.permutation import Permutation


@given(size=st.integers(1, 3_000), seed=st.integers(-(2**70), 2**70))
def test_every_number_comes_exactly_once(size: int, seed: int) -> None:
    order = Permutation(size, seed)(np.arange(size))
    assert np.array_equal(np.sort(order), np.arange(size))


def test_a_large_range_is_permuted_without_repetition() -> None:
    size = 300_001
    assert len(np.unique(Permutation(size, 1)(np.arange(size)))) == size


@given(size=st.integers(1, 10**12), seed=st.integers(0, 100), data=st.data())
def test_any_part_can_be_read_alone(size: int, seed: int, data: st.DataObject) -> None:
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


def test_every_number_reaches_every_place_equally_often() -> None:
    size, tries = 11, 4_000
    counts = np.zeros((size, size))
    for seed in range(tries):
        counts[np.arange(size), Permutation(size, seed)(np.arange(size))] += 1
    expected = tries / size
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    degrees = (size - 1) ** 2
    assert abs(chi_squared - degrees) < 5 * np.sqrt(2 * degrees)


def test_neighbours_part() -> None:
    size = 20_000
    order = Permutation(size, 7)(np.arange(size))
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.05
    assert abs(np.corrcoef(order, np.arange(size))[0, 1]) < 0.05


@pytest.mark.parametrize("position", [-1, 10])
def test_a_position_outside_the_range_is_refused(position: int) -> None:
    with pytest.raises(IndexError, match="range\\(10\\)"):
        Permutation(10, 0)(np.array([position]))
