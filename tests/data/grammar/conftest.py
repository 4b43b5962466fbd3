"""One sample of each split for all tests of this folder: drawing it is the slow part."""

from collections.abc import Callable
from functools import cache
from itertools import islice

import pytest

from clearhead.data.grammar import GrammarPair, generate, generate_wide

Sample = Callable[..., tuple[GrammarPair, ...]]


@cache
def _sample(split: str, count: int = 300, seed: int = 0) -> tuple[GrammarPair, ...]:
    return tuple(islice(generate(split, seed), count))


@pytest.fixture(scope="session")
def sample() -> Sample:
    """`sample(split, count, seed)`: the first `count` pairs."""
    return _sample


@pytest.fixture(scope="session")
def train() -> tuple[GrammarPair, ...]:
    """Twenty thousand training pairs."""
    return _sample("train", 20_000)


@pytest.fixture(scope="session")
def everywhere(train: tuple[GrammarPair, ...]) -> tuple[GrammarPair, ...]:
    """Training pairs and some of every other split."""
    rest = ("dev", "test", "held_out_words", "held_out_constructions", "long")
    return train + tuple(pair for split in rest for pair in _sample(split))


@cache
def _wide_sample(split: str, count: int = 250, seed: int = 0) -> tuple[GrammarPair, ...]:
    return tuple(islice(generate_wide(split, seed), count))


@pytest.fixture(scope="session")
def wide_sample() -> Sample:
    """`wide_sample(split, count, seed)`: the first `count` pairs of the wide grammar."""
    return _wide_sample


@pytest.fixture(scope="session")
def wide_train() -> tuple[GrammarPair, ...]:
    """Six thousand training pairs of the wide grammar."""
    return _wide_sample("train", 6_000)
