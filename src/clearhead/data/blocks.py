"""Blocks of a ribbon in a random order that can be taken up at any batch."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearhead.data.packed import PackedCorpus, refuse_short
from clearhead.data.permutation import Permutation
from clearhead.data.walk import refuse_another_walk

Ids = NDArray[np.int64]
NOTHING = -1
"""Where the last block is not full."""


@dataclass(frozen=True)
class BlockPlan:
    """How a ribbon is cut: block k holds ids k · length … (k + 1) · length + ahead.

    `ahead` = 1 for who predicts the next token: then every id but the first is predicted in
    exactly one block, and the last id of a block is seen as the first of the next.
    """

    length: int
    ahead: int
    rows: int
    seed: int


@dataclass(frozen=True)
class Blocks:
    """A batch: ids (rows, length + ahead), and where in the walk it stands."""

    ids: Ids
    epoch: int
    index: int


class BlockBatches(Iterator[Blocks]):
    """An endless walk: every block once an epoch, each epoch in another order.

    Raises:
        UserError: the ribbon is shorter than a block.
    """

    def __init__(self, corpus: PackedCorpus, plan: BlockPlan) -> None:
        refuse_short(corpus.tokens - plan.ahead, plan.length)
        self.corpus, self.plan = corpus, plan
        self.epoch = self.index = 0

    @property
    def blocks(self) -> int:
        """In an epoch."""
        return -(-(self.corpus.tokens - self.plan.ahead) // self.plan.length)

    def state(self) -> dict[str, int]:
        """The position before the next batch, and what it depends on."""
        return {"epoch": self.epoch, "index": self.index, **self._setting()}

    def restore(self, state: dict[str, int]) -> None:
        """Go to a position from `state`; the following batches are the same, bit by bit.

        Raises:
            UserError: the position belongs to another text or plan.
        """
        refuse_another_walk(state, self._setting())
        self.epoch, self.index = state["epoch"], state["index"]

    def __next__(self) -> Blocks:
        plan, total = self.plan, self.blocks
        first = self.index * plan.rows
        positions = np.arange(first, min(first + plan.rows, total), dtype=np.int64)
        numbers = Permutation(total, plan.seed, self.epoch)(positions)
        batch = Blocks(rows_of(self.corpus, plan, numbers.tolist()), self.epoch, self.index)
        self.index += 1
        if self.index * plan.rows >= total:
            self.epoch, self.index = self.epoch + 1, 0
        return batch

    def _setting(self) -> dict[str, int]:
        plan = self.plan
        return {
            "seed": plan.seed,
            "length": plan.length,
            "rows": plan.rows,
            "digest": int(self.corpus.digest[:15], 16),
        }


def rows_of(corpus: PackedCorpus, plan: BlockPlan, numbers: list[int]) -> Ids:
    """The blocks of these numbers, (rows, length + ahead); the last may end in `NOTHING`."""
    ids = np.full((len(numbers), plan.length + plan.ahead), NOTHING, dtype=np.int64)
    for row, number in zip(ids, numbers, strict=True):
        found = corpus.read(number * plan.length, plan.length + plan.ahead)
        row[: len(found)] = found
    return ids
