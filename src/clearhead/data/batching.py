"""Padded training batches by number of tokens, in a random order that can be resumed at any batch.

Within an epoch the corpus is permuted, the permuted corpus is cut into windows, each window is
sorted by length and cut into batches, and its batches are shuffled. All of it is a pure function
of (seed, epoch, window, batch): a saved position is three integers, and memory holds one window.
"""

from dataclasses import dataclass

import numpy as np

from clearhead.data.encoded import EncodedCorpus, Ids, Ints, Rows
from clearhead.data.ordering import Permutation, ResumableBatches, by_length, cut_by_tokens
from clearhead.errors import UserError


@dataclass(frozen=True)
class Batch:
    """Padded ids that end with the EOS token: source (batch, src_len), target (batch, tgt_len).

    `target` holds the labels; the decoder's input is `shift_right(target)`.

    Attributes:
        indices: (batch,) the indices of the pairs in the corpus.
        source_tokens, target_tokens: numbers of ids that are not padding, EOS included.
        epoch, window, index: the position of the batch in the data.
    """

    source: Ints
    target: Ints
    indices: Ints
    source_tokens: int
    target_tokens: int
    epoch: int
    window: int
    index: int


@dataclass(frozen=True)
class BatchPlan:
    """How a corpus is cut into batches.

    Attributes:
        max_tokens: a batch of b pairs has b · max(src_len, tgt_len) ≤ max_tokens,
            padding and the EOS token included.
        window: number of pairs that are sorted by length together.
        max_pairs: maximum number of pairs in a batch; None: no limit but max_tokens.
        seed: another seed gives another order.
        pad_id, eos_id: the tokenizer's special ids.
    """

    max_tokens: int = 4096
    window: int = 20_000
    max_pairs: int | None = None
    seed: int = 0
    pad_id: int = 0
    eos_id: int = 2

    def __post_init__(self) -> None:
        for name in ("max_tokens", "window", "max_pairs"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{name}={value}, expected an integer of at least 1")


class TokenBatches(ResumableBatches[Batch]):
    """An endless sequence of batches, each pair once an epoch."""

    POSITION = ("epoch", "window", "index")

    def __init__(self, corpus: EncodedCorpus, plan: BatchPlan) -> None:
        self.corpus, self.plan = corpus, plan
        self.epoch = self.window = self.index = 0
        self._rows: Rows | None = None
        self._indices: Ints = np.zeros(0, dtype=np.int64)
        self._batches: list[Ints] = []
        self._filled = self._total = 0

    @property
    def padding_share(self) -> float:
        """The share of padding in all batches so far, source and target together."""
        return 1 - self._filled / self._total if self._total else 0.0

    def __next__(self) -> Batch:
        if self._rows is None:
            self._rows = self._load_window()
        chosen = self._batches[self.index]
        starts, sources = self._rows.starts[chosen], self._rows.source_lengths[chosen]
        targets = self._rows.target_lengths[chosen]
        batch = Batch(
            _padded(self._rows.tokens, starts, sources, self.plan),
            _padded(self._rows.tokens, starts + sources, targets, self.plan),
            self._indices[chosen],
            int(sources.sum()) + len(chosen),
            int(targets.sum()) + len(chosen),
            self.epoch,
            self.window,
            self.index,
        )
        self._filled += batch.source_tokens + batch.target_tokens
        self._total += batch.source.size + batch.target.size
        self._advance()
        return batch

    def _settings(self) -> dict[str, int]:
        plan = self.plan
        return {
            "seed": plan.seed,
            "max_tokens": plan.max_tokens,
            "window_pairs": plan.window,
            "max_pairs": plan.max_pairs or 0,
            "pairs": len(self.corpus),
            "digest": int(self.corpus.digest[:15], 16),
        }

    def _moved(self) -> None:
        self._rows = None

    def _advance(self) -> None:
        self.index += 1
        if self.index < len(self._batches):
            return
        self.index, self._rows = 0, None
        self.window += 1
        if self.window * self.plan.window >= len(self.corpus):
            self.window = 0
            self.epoch += 1

    def _load_window(self) -> Rows:
        """Read the pairs of a window and cut them into batches."""
        plan, size = self.plan, len(self.corpus)
        start = self.window * plan.window
        positions = np.arange(start, min(start + plan.window, size), dtype=np.int64)
        self._indices = Permutation(size, plan.seed, self.epoch)(positions)
        rows = self.corpus.read(self._indices)
        order = by_length(rows.source_lengths, rows.target_lengths)
        longest = np.maximum(rows.source_lengths, rows.target_lengths)[order] + 1
        cuts = cut_by_tokens(longest, plan.max_tokens, plan.max_pairs)
        shuffle = Permutation(len(cuts), plan.seed, self.epoch, self.window)
        self._batches = [order[cuts[i]] for i in shuffle(np.arange(len(cuts))).tolist()]
        return rows


def _padded(tokens: Ids, starts: Ints, lengths: Ints, plan: BatchPlan) -> Ints:
    """Rows of tokens, (batch, longest + 1), with EOS and padding."""
    columns = np.arange(int(lengths.max()) + 1)
    where = np.minimum(starts[:, None] + columns, len(tokens) - 1)
    ids: Ints = tokens[where].astype(np.int64)
    ids[columns > lengths[:, None]] = plan.pad_id
    ids[np.arange(len(lengths)), lengths] = plan.eos_id
    return ids
