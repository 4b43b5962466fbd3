from itertools import islice, takewhile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.batching import Batch, BatchPlan, TokenBatches
from clearhead.data.encoded import EncodedCorpus
from clearhead.data.pairs import Pair
from clearhead.errors import UserError

PAD, EOS = 0, 2


def corpus_of(lengths: list[tuple[int, int]], directory: Path) -> EncodedCorpus:
    """Pair i holds its own number i + 10 as often as `lengths` say."""
    pairs = (Pair(f"{i + 10} " * s, f"{i + 10} " * t) for i, (s, t) in enumerate(lengths))
    return EncodedCorpus.build(
        pairs, lambda texts: [[int(w) for w in text.split()] for text in texts], directory, 10**6
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> EncodedCorpus:
    sizes = np.random.default_rng(0).integers(1, 30, size=(700, 2))
    return corpus_of([(int(s), int(t)) for s, t in sizes], tmp_path_factory.mktemp("corpus"))


LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=60)
PLANS = st.builds(
    BatchPlan,
    max_tokens=st.integers(1, 200),
    window=st.integers(1, 70),
    max_pairs=st.none() | st.integers(1, 20),
    seed=st.integers(0, 2**40),
)


def same(a: Batch, b: Batch) -> bool:
    arrays = ("source", "target", "indices")
    numbers = ("epoch", "window", "index", "source_tokens", "target_tokens")
    return all(np.array_equal(getattr(a, n), getattr(b, n)) for n in arrays) and all(
        getattr(a, n) == getattr(b, n) for n in numbers
    )


@given(lengths=LENGTHS, plan=PLANS)
def test_every_pair_comes_exactly_once_in_each_epoch(
    lengths: list[tuple[int, int]], plan: BatchPlan, tmp_path_factory: pytest.TempPathFactory
) -> None:
    batches = TokenBatches(corpus_of(lengths, tmp_path_factory.mktemp("c")), plan)
    seen: dict[int, list[int]] = {0: [], 1: []}
    for batch in takewhile(lambda b: b.epoch < 2, batches):
        seen[batch.epoch] += batch.indices.tolist()
    assert sorted(seen[0]) == sorted(seen[1]) == list(range(len(lengths)))


@given(lengths=LENGTHS, plan=PLANS)
def test_no_batch_exceeds_its_limits_padding_included(
    lengths: list[tuple[int, int]], plan: BatchPlan, tmp_path_factory: pytest.TempPathFactory
) -> None:
    batches = TokenBatches(corpus_of(lengths, tmp_path_factory.mktemp("c")), plan)
    for batch in takewhile(lambda b: b.epoch < 1, batches):
        assert len(batch.source) == len(batch.target) == len(batch.indices)
        assert (
            max(batch.source.size, batch.target.size) <= plan.max_tokens or len(batch.source) == 1
        )
        assert plan.max_pairs is None or len(batch.source) <= plan.max_pairs


def test_rows_are_ids_then_eos_then_padding(corpus: EncodedCorpus) -> None:
    for batch in islice(TokenBatches(corpus, BatchPlan(max_tokens=300)), 200):
        pairs = corpus.get(batch.indices)
        for side, ids in enumerate((batch.source, batch.target)):
            assert ids.dtype == np.int64
            assert ids.shape[1] == 1 + max(len(pair[side]) for pair in pairs)
            for row, pair in zip(ids, pairs, strict=True):
                length = len(pair[side])
                assert np.array_equal(row[:length], pair[side])
                assert row[length] == EOS
                assert (row[length + 1 :] == PAD).all()
        assert batch.source_tokens == (batch.source != PAD).sum()
        assert batch.target_tokens == (batch.target != PAD).sum()


@given(plan=PLANS, steps=st.integers(0, 150))
def test_after_restore_the_same_batches_follow(
    corpus: EncodedCorpus, plan: BatchPlan, steps: int
) -> None:
    walking = TokenBatches(corpus, plan)
    for _ in range(steps):
        next(walking)
    state = walking.state()
    resumed = TokenBatches(EncodedCorpus.open(corpus.directory), plan)
    resumed.restore(state)
    assert resumed.state() == state
    assert all(same(next(walking), next(resumed)) for _ in range(20))


def test_the_state_is_small_and_plain(corpus: EncodedCorpus) -> None:
    state = TokenBatches(corpus, BatchPlan()).state()
    assert all(type(value) is int and value < 2**63 for value in state.values())


@pytest.mark.parametrize(
    "other",
    [BatchPlan(seed=1), BatchPlan(max_tokens=7), BatchPlan(window=3), BatchPlan(max_pairs=1)],
)
def test_a_position_of_another_plan_is_refused(corpus: EncodedCorpus, other: BatchPlan) -> None:
    state = TokenBatches(corpus, BatchPlan()).state()
    with pytest.raises(UserError, match=r"was \d+ and is \d+ now"):
        TokenBatches(corpus, other).restore(state)


def test_a_position_in_another_corpus_is_refused(corpus: EncodedCorpus, tmp_path: Path) -> None:
    state = TokenBatches(corpus, BatchPlan()).state()
    with pytest.raises(UserError, match="with the same data"):
        TokenBatches(corpus_of([(1, 1)], tmp_path), BatchPlan()).restore(state)


def test_another_seed_and_another_epoch_are_another_order(corpus: EncodedCorpus) -> None:
    def order(seed: int, epoch: int) -> list[int]:
        batches = TokenBatches(corpus, BatchPlan(max_tokens=500, window=100, seed=seed))
        chosen = takewhile(lambda b: b.epoch <= epoch, batches)
        return [i for batch in chosen if batch.epoch == epoch for i in batch.indices.tolist()]

    orders = [order(0, 0), order(0, 1), order(1, 0)]
    assert len({tuple(o) for o in orders}) == 3
    assert order(0, 1) == orders[1]


def test_short_and_long_batches_are_mixed(corpus: EncodedCorpus) -> None:
    batches = TokenBatches(corpus, BatchPlan(max_tokens=300))
    widths = [b.target.shape[1] for b in takewhile(lambda b: b.epoch < 1, batches)]
    assert abs(np.corrcoef(widths, np.arange(len(widths)))[0, 1]) < 0.5


def test_sorting_saves_most_of_the_padding(corpus: EncodedCorpus) -> None:
    lengths = 1 + np.array(corpus.lengths(0, len(corpus)))  # (2, pairs), eos included
    unsorted = lengths.reshape(2, -1, 10)  # batches of ten
    wasted = 1 - unsorted.mean() / unsorted.max(axis=2).mean()
    batches = TokenBatches(corpus, BatchPlan(max_tokens=10**6, max_pairs=10))
    assert batches.padding_share == 0.0
    for _ in takewhile(lambda b: b.epoch < 1, batches):
        pass
    assert 0 < batches.padding_share < wasted / 2


@pytest.mark.parametrize("plan", [{"max_tokens": 0}, {"window": -1}, {"max_pairs": 0}])
def test_a_plan_that_cannot_be_followed_is_refused(plan: dict[str, int]) -> None:
    with pytest.raises(UserError, match="expected an integer of at least 1"):
        BatchPlan(**plan)
