"""Packing loses nothing: every token is in one block, and predicted in one."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from clearhead.data.blocks import NOTHING, BlockBatches, BlockPlan, rows_of
from clearhead.data.hidden import HiddenBatches
from clearhead.data.masking import Vocabulary
from clearhead.data.packed import PackedCorpus
from clearhead.errors import UserError

SIGN = 3
TEXTS = ["abc", "d", "efghijk", "lmnopqrstuvw", "xy", "z"]
RIBBON = [SIGN, *(i for text in TEXTS for i in (*map(ord, text), SIGN))]


def encode(texts: Sequence[str]) -> list[list[int]]:
    return [[ord(c) for c in text] for text in texts]


@pytest.fixture
def corpus(tmp_path: Path) -> PackedCorpus:
    return PackedCorpus.build(TEXTS, encode, SIGN, 200, tmp_path)


@pytest.mark.parametrize("vocab_size", [200, 70_000])
def test_the_ribbon_is_all_texts_between_signs(vocab_size: int, tmp_path: Path) -> None:
    shift = vocab_size - 200
    built = PackedCorpus.build(
        TEXTS, lambda t: [[i + shift for i in ids] for ids in encode(t)], SIGN, vocab_size, tmp_path
    )
    expected = [i if i == SIGN else i + shift for i in RIBBON]
    assert built.read(0, 1000).tolist() == expected
    assert (built.texts, built.tokens) == (len(TEXTS), len(RIBBON))
    assert PackedCorpus.open(tmp_path).digest == built.digest


@pytest.mark.parametrize("length", [2, 5, 7, len(RIBBON) - 1])
def test_every_token_but_the_first_is_predicted_exactly_once(
    length: int, corpus: PackedCorpus
) -> None:
    batches = BlockBatches(corpus, BlockPlan(length, 1, rows=3, seed=4))
    predicted: list[int] = []
    while batches.epoch == 0:
        predicted += next(batches).ids[:, 1:].ravel().tolist()
    assert sorted(i for i in predicted if i != NOTHING) == sorted(RIBBON[1:])
    plan = batches.plan
    rows = rows_of(corpus, plan, list(range(batches.blocks)))
    assert (rows[1:, 0] == rows[:-1, -1]).all()  # seen first where the block before ended


def test_each_epoch_has_all_blocks_in_another_order(corpus: PackedCorpus) -> None:
    batches = BlockBatches(corpus, BlockPlan(4, 0, rows=3, seed=4))
    orders = []
    for epoch in range(3):
        rows: list[tuple[int, ...]] = []
        while batches.epoch == epoch:
            rows += [tuple(row) for row in next(batches).ids.tolist()]
        assert [i for row in sorted(rows) for i in row if i >= 0].count(SIGN) == RIBBON.count(SIGN)
        orders.append(rows)
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[1] != orders[2]


def hidden(corpus: PackedCorpus) -> HiddenBatches:
    return HiddenBatches(corpus, Vocabulary(200, (0, 1, 2, SIGN), 2), (1, SIGN, 0), 7, 2, seed=4)


def test_between_signs_no_token_is_lost_and_rows_are_filled_up(corpus: PackedCorpus) -> None:
    batches, found = hidden(corpus), []
    while batches.epoch == 0:
        batch = next(batches)
        truth = np.where(batch.labels >= 0, batch.labels, batch.ids)
        for row in truth.tolist():
            filled = len(row) - row.count(0)
            assert row[0] == 1 and row[filled - 1] == SIGN and not any(row[filled:])
            found += row[1 : filled - 1]
    assert sorted(found) == sorted(RIBBON)


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_a_walk_is_taken_up_where_it_was(steps: int, corpus: PackedCorpus) -> None:
    for make in (lambda: BlockBatches(corpus, BlockPlan(4, 1, 2, seed=9)), lambda: hidden(corpus)):
        one, other = make(), make()
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


def test_a_directory_without_a_ribbon_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no complete packed text"):
        PackedCorpus.open(tmp_path)
