from itertools import pairwise

import pytest

from clearhead.data import open_pairs
from clearhead.errors import UserError


def test_the_count_and_the_seed_are_followed_and_it_can_be_read_again() -> None:
    corpus = open_pairs("grammar:train:50:3")
    pairs = list(corpus)
    assert len(pairs) == 50
    assert all(source and target for source, target in pairs)
    assert list(corpus) == pairs
    assert list(open_pairs("grammar:train:20:3")) == pairs[:20]


def test_seeds_and_splits_are_different_streams() -> None:
    specs = ("grammar:train:30", "grammar:train:30:1", "grammar:dev:30")
    streams = [list(open_pairs(spec)) for spec in specs]
    assert all(a != b for a, b in pairwise(streams))


def test_a_split_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(UserError, match=r"split 'trian' is unknown; choose one of train"):
        next(iter(open_pairs("grammar:trian:5")))
