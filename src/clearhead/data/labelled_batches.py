"""Batches of labelled examples in a random order that can be resumed at any batch.

As in `batching`, the order of an epoch is a pure function of (seed, epoch): the examples are
permuted, cut into windows, sorted by length within each and cut into batches, which are shuffled.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clearhead.data.ordering import Ints, Permutation, ResumableBatches, cut_by_tokens

NOTHING = -100
"""The label of a position that is not learned: torch's cross-entropy ignores it."""
WINDOW = 50
"""Batches that are sorted by length together."""


class Example(NamedTuple):
    """A text as ids, special tokens included, and its labels.

    `segments` are 0 and 1 for a pair of texts, otherwise None; `targets` is the index of one
    label for the text, or of one label for each token, `NOTHING` where none is learned.
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
    """Examples of one kind, padded to the longest."""
    pairs = examples[0].segments is not None
    one_each = len(examples[0].targets) == 1 < len(examples[0].ids)
    targets = [example.targets for example in examples]
    return LabelledBatch(
        padded([example.ids for example in examples], pad_id),
        padded([example.segments or () for example in examples], 0) if pairs else None,
        np.array(targets, dtype=np.int64)[:, 0] if one_each else padded(targets, NOTHING),
    )


class LabelledBatches(ResumableBatches[LabelledBatch]):
    """An endless sequence of batches of examples in memory, each example once an epoch."""

    def __init__(
        self, examples: Sequence[Example], max_tokens: int, max_texts: int, seed: int, pad_id: int
    ) -> None:
        self.examples, self.pad_id = examples, pad_id
        self.max_tokens, self.max_texts, self.seed = max_tokens, max_texts, seed
        self.lengths = np.array([len(example.ids) for example in examples], dtype=np.int64)
        self.digest = _digest(examples)
        self.epoch = self.index = 0
        self._of_epoch: list[Ints] | None = None

    @property
    def batches_an_epoch(self) -> int:
        """Batches in this epoch; the next may have more or fewer."""
        return len(self._batches())

    def __next__(self) -> LabelledBatch:
        batches = self._batches()
        chosen = [self.examples[i] for i in batches[self.index].tolist()]
        self.index += 1
        if self.index == len(batches):
            self.epoch, self.index, self._of_epoch = self.epoch + 1, 0, None
        return pad(chosen, self.pad_id)

    def _settings(self) -> dict[str, int]:
        return {
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "max_texts": self.max_texts,
            "examples": len(self.examples),
            "digest": self.digest,
        }

    def _moved(self) -> None:
        self._of_epoch = None

    def _batches(self) -> list[Ints]:
        if self._of_epoch is None:
            self._of_epoch = self._cut()
        return self._of_epoch

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


def padded(rows: Sequence[Sequence[int]], value: int) -> Ints:
    """Rows of ids as one array, (rows, longest); `value` follows the shorter ones."""
    out = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for line, row in zip(out, rows, strict=True):
        line[: len(row)] = row
    return out


def _digest(examples: Sequence[Example]) -> int:
    digest = hashlib.sha256()
    for ids, segments, targets in examples:
        for part in (ids, segments or (), targets):
            digest.update(np.array([len(part), *part], dtype=np.int64).tobytes())
    return int(digest.hexdigest()[:15], 16)
