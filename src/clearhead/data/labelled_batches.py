"""Batches of labelled examples in a random order that can be taken up at any batch.

As in `batching`, an epoch's order is a pure function of (seed, epoch): the examples are permuted,
cut into windows, sorted by length within each and cut into batches, which are shuffled.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearhead.data.permutation import Permutation
from clearhead.data.sorting import cut_by_tokens
from clearhead.data.walk import refuse_another_walk

Ints = NDArray[np.int64]
NOTHING = -100  # a place whose label does not count; what torch's cross-entropy ignores
WINDOW = 50  # batches that are sorted by length together


class Example(NamedTuple):
    """A text as ids, signs included, and what is to be said of it.

    `segments` are 0 and 1 for a pair of texts, else None; `targets` is one label's number for
    a text, or one for every piece, `NOTHING` where none counts.
    """

    ids: Sequence[int]
    segments: Sequence[int] | None
    targets: Sequence[int]


class LabelledBatch(NamedTuple):
    """Padded: ids and segments (batch, seq_len), targets (batch,) or (batch, seq_len)."""

    ids: Ints
    segments: Ints | None
    targets: Ints


def pad(examples: Sequence[Example], pad_id: int) -> LabelledBatch:
    """Examples of one kind, filled up to the longest."""
    pairs = examples[0].segments is not None
    one_each = len(examples[0].targets) == 1 < len(examples[0].ids)
    targets = [example.targets for example in examples]
    return LabelledBatch(
        _filled([example.ids for example in examples], pad_id),
        _filled([example.segments or () for example in examples], 0) if pairs else None,
        np.array(targets, dtype=np.int64)[:, 0] if one_each else _filled(targets, NOTHING),
    )


class LabelledBatches(Iterator[LabelledBatch]):
    """An endless walk through examples in memory, each once an epoch."""

    def __init__(
        self, examples: Sequence[Example], max_tokens: int, max_texts: int, seed: int, pad_id: int
    ) -> None:
        self.examples, self.pad_id = examples, pad_id
        self.max_tokens, self.max_texts, self.seed = max_tokens, max_texts, seed
        self.lengths = np.array([len(example.ids) for example in examples], dtype=np.int64)
        self.digest = _digest(examples)
        self.epoch = self.index = 0
        self._epochs_batches: list[Ints] | None = None

    @property
    def batches_an_epoch(self) -> int:
        """How many there are in this epoch; the next may have one more or less."""
        return len(self._batches())

    def state(self) -> dict[str, int]:
        """The position before the next batch, and what it depends on."""
        return {"epoch": self.epoch, "index": self.index, **self._setting()}

    def restore(self, state: dict[str, int]) -> None:
        """Go to a position from `state`; the following batches are the same, bit by bit.

        Raises:
            UserError: the position belongs to other data or other batches.
        """
        refuse_another_walk(state, self._setting())
        self.epoch, self.index = state["epoch"], state["index"]
        self._epochs_batches = None

    def __next__(self) -> LabelledBatch:
        batches = self._batches()
        chosen = [self.examples[i] for i in batches[self.index].tolist()]
        self.index += 1
        if self.index == len(batches):
            self.epoch, self.index, self._epochs_batches = self.epoch + 1, 0, None
        return pad(chosen, self.pad_id)

    def _setting(self) -> dict[str, int]:
        return {
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "max_texts": self.max_texts,
            "examples": len(self.examples),
            "digest": self.digest,
        }

    def _batches(self) -> list[Ints]:
        if self._epochs_batches is None:
            self._epochs_batches = self._cut()
        return self._epochs_batches

    def _cut(self) -> list[Ints]:
        size = len(self.examples)
        order = Permutation(size, self.seed, self.epoch)(np.arange(size))
        batches: list[Ints] = []
        window = WINDOW * self.max_texts
        for start in range(0, size, window):
            part = order[start : start + window]
            part = part[np.argsort(self.lengths[part], kind="stable")]
            cuts = cut_by_tokens(self.lengths[part], self.max_tokens, self.max_texts)
            batches += [part[cut] for cut in cuts]
        shuffle = Permutation(len(batches), self.seed, self.epoch, 1)
        return [batches[i] for i in shuffle(np.arange(len(batches))).tolist()]


def _filled(rows: Sequence[Sequence[int]], filling: int) -> Ints:
    out = np.full((len(rows), max(map(len, rows))), filling, dtype=np.int64)
    for line, row in zip(out, rows, strict=True):
        line[: len(row)] = row
    return out


def _digest(examples: Sequence[Example]) -> int:
    sums = hashlib.sha256()
    for ids, segments, targets in examples:
        for part in (ids, segments or (), targets):
            sums.update(np.array([len(part), *part], dtype=np.int64).tobytes())
    return int(sums.hexdigest()[:15], 16)
