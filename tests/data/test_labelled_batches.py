"""Batches of examples: each once an epoch, taken up anywhere, padded to the longest."""

import random

import numpy as np
import pytest

from clearhead.data.labelled_batches import NOTHING, Example, LabelledBatches, pad
from clearhead.errors import UserError


def examples(count: int, tags: bool = False) -> list[Example]:
    rng = random.Random(3)
    found = []
    for number in range(count):
        ids = [number + 1] + [9] * rng.randint(1, 8)
        found.append(Example(ids, None, [5] * len(ids) if tags else [number % 3]))
    return found


def walk(batches: LabelledBatches, count: int) -> list[list[int]]:
    return [next(batches).ids[:, 0].tolist() for _ in range(count)]


def test_every_example_comes_once_an_epoch_in_batches_within_their_limits() -> None:
    batches = LabelledBatches(examples(67), 40, 7, 1, 0)
    seen: list[list[int]] = []
    for epoch in range(3):
        rows = []
        while batches.epoch == epoch:
            batch = next(batches)
            assert batch.ids.size <= 40 and len(batch.ids) <= 7
            rows += batch.ids[:, 0].tolist()
        assert sorted(rows) == list(range(1, 68))
        seen.append(rows)
    assert seen[0] != seen[1] != seen[2]


@pytest.mark.parametrize("stop", [0, 3, 14, 40])
def test_resumed_batches_equal_uninterrupted_ones(stop: int) -> None:
    whole, first = (LabelledBatches(examples(67), 40, 7, 1, 0) for _ in range(2))
    expected = walk(whole, stop + 25)[stop:]
    walk(first, stop)
    again = LabelledBatches(examples(67), 40, 7, 1, 0)
    again.restore(first.state())
    assert walk(again, 25) == expected


def test_a_position_in_other_data_is_refused() -> None:
    state = LabelledBatches(examples(9), 40, 7, 1, 0).state()
    changed = [*examples(8), Example([9, 9], None, [0])]
    with pytest.raises(UserError, match=r"cannot resume .*: digest was"):
        LabelledBatches(changed, 40, 7, 1, 0).restore(state)


def test_ids_are_padded_with_pad_id_and_labels_with_the_ignored_label() -> None:
    texts = [Example([4, 5, 6], None, [2]), Example([4, 6], None, [0])]
    batch = pad(texts, 1)
    assert batch.ids.tolist() == [[4, 5, 6], [4, 6, 1]] and batch.targets.tolist() == [2, 0]
    tags = [Example([4, 5, 6], [0, 1, 1], [NOTHING, 2, 0]), Example([4, 6], [0, 0], [1, NOTHING])]
    batch = pad(tags, 1)
    assert batch.targets.tolist() == [[NOTHING, 2, 0], [1, NOTHING, NOTHING]]
    assert batch.segments is not None and batch.segments.tolist() == [[0, 1, 1], [0, 0, 0]]
    assert batch.ids.dtype == batch.targets.dtype == np.int64
