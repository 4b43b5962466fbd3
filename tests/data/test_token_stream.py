"""Packing loses nothing: every token is in one block, and predicted in one block."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from clearhead.data.token_stream import PADDING, BlockBatches, BlockPlan, PackedCorpus, rows_of
from clearhead.errors import UserError

EOS = 3
TEXTS = ["abc", "d", "efghijk", "lmnopqrstuvw", "xy", "z"]
STREAM = [EOS, *(i for text in TEXTS for i in (*map(ord, text), EOS))]


def encode(texts: Sequence[str]) -> list[list[int]]:
    return [[ord(c) for c in text] for text in texts]


@pytest.fixture
def corpus(tmp_path: Path) -> PackedCorpus:
    return PackedCorpus.build(TEXTS, encode, EOS, 200, tmp_path)


@pytest.mark.parametrize("vocab_size", [200, 70_000])
def test_the_stream_is_all_texts_between_eos_tokens(vocab_size: int, tmp_path: Path) -> None:
    shift = vocab_size - 200
    built = PackedCorpus.build(
        TEXTS, lambda t: [[i + shift for i in ids] for ids in encode(t)], EOS, vocab_size, tmp_path
    )
    expected = [i if i == EOS else i + shift for i in STREAM]
    assert built.read(0, 1000).tolist() == expected
    assert (built.texts, built.tokens) == (len(TEXTS), len(STREAM))
    assert PackedCorpus.open(tmp_path).digest == built.digest


@pytest.mark.parametrize("length", [2, 5, 7, len(STREAM) - 1])
def test_every_token_but_the_first_is_predicted_exactly_once(
    length: int, corpus: PackedCorpus
) -> None:
    batches = BlockBatches(corpus, BlockPlan(length, 1, rows=3, seed=4))
    predicted: list[int] = []
    while batches.epoch == 0:
        predicted += next(batches).ids[:, 1:].ravel().tolist()
    assert sorted(i for i in predicted if i != PADDING) == sorted(STREAM[1:])
    plan = batches.plan
    rows = rows_of(corpus, plan, list(range(batches.blocks)))
    assert (rows[1:, 0] == rows[:-1, -1]).all()  # a block continues the one before


def test_each_epoch_has_all_blocks_in_another_order(corpus: PackedCorpus) -> None:
    batches = BlockBatches(corpus, BlockPlan(4, 0, rows=3, seed=4))
    orders = []
    for epoch in range(3):
        rows: list[tuple[int, ...]] = []
        while batches.epoch == epoch:
            rows += [tuple(row) for row in next(batches).ids.tolist()]
        assert [i for row in sorted(rows) for i in row if i >= 0].count(EOS) == STREAM.count(EOS)
        orders.append(rows)
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[1] != orders[2]


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_batches_resume_from_a_saved_position(steps: int, corpus: PackedCorpus) -> None:
    one, other = (BlockBatches(corpus, BlockPlan(4, 1, 2, seed=9)) for _ in range(2))
    for _ in range(steps):
        next(one)
    other.restore(one.state())
    for _ in range(6):
        assert next(one).ids.tolist() == next(other).ids.tolist()
    assert one.epoch == other.epoch > 0


def test_another_setting_is_refused(corpus: PackedCorpus) -> None:
    state = BlockBatches(corpus, BlockPlan(4, 1, 2, seed=9)).state()
    with pytest.raises(UserError, match="rows was 2 and is 3 now"):
        BlockBatches(corpus, BlockPlan(4, 1, 3, seed=9)).restore(state)


def test_a_text_shorter_than_a_block_is_one_line(corpus: PackedCorpus) -> None:
    with pytest.raises(UserError, match=r"fewer than one block of 99; .*model\.seq_len"):
        BlockBatches(corpus, BlockPlan(99, 1, 2, seed=9))


def test_a_directory_without_a_corpus_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no complete encoded corpus"):
        PackedCorpus.open(tmp_path)
