"""Blocks of text between BERT's signs, with words hidden anew in every epoch."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from clearhead.data.blocks import BlockBatches, BlockPlan
from clearhead.data.masking import Masked, Vocabulary, hide
from clearhead.data.packed import PackedCorpus

Ids = NDArray[np.int64]
Frame = tuple[int, int, int]  # the first sign, the last, the one that fills up


class HiddenBatches(Iterator[Masked]):
    """An endless walk through a ribbon; a row is [CLS] block [SEP], `length` tokens in all.

    What is hidden follows from the seed, the epoch and the batch's number alone, so a
    position is all that a resumption needs.
    """

    def __init__(
        self,
        corpus: PackedCorpus,
        vocabulary: Vocabulary,
        frame: Frame,
        length: int,
        rows: int,
        seed: int,
    ) -> None:
        self.corpus, self.vocabulary, self.frame = corpus, vocabulary, frame
        self._plain = BlockBatches(corpus, BlockPlan(length - 2, 0, rows, seed))
        self.state, self.restore = self._plain.state, self._plain.restore

    @property
    def epoch(self) -> int:
        """How often all of it was seen."""
        return self._plain.epoch

    @property
    def blocks(self) -> int:
        """In an epoch."""
        return self._plain.blocks

    def __next__(self) -> Masked:
        batch = next(self._plain)
        framed = between_signs(batch.ids, self.frame)
        return hide(framed, self.vocabulary, self._plain.plan.seed, batch.epoch, batch.index)


def between_signs(ids: Ids, frame: Frame) -> Ids:
    """(rows, n) -> (rows, n + 2); where a row is not full the rest is filled up."""
    first, last, fill = frame
    lengths = (ids >= 0).sum(axis=1)
    framed = np.full((len(ids), ids.shape[1] + 2), fill, dtype=np.int64)
    framed[:, 0] = first
    framed[:, 1:-1] = np.where(ids >= 0, ids, fill)
    framed[np.arange(len(ids)), lengths + 1] = last
    return framed
