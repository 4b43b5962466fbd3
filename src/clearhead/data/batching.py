"""Training batches by tokens, in a random order that can be taken up at any batch.

Within an epoch the corpus is permuted, the permuted corpus is cut into windows,
each window is sorted by length and cut into batches, and its batches are
shuffled. All of it is a pure function of (seed, epoch, window, batch): a saved
position is three numbers, and memory holds one window.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearhead.data.batch import Batch, pad_rows
from clearhead.data.encoded import EncodedCorpus, Rows
from clearhead.data.permutation import Permutation
from clearhead.data.sorting import by_length, cut_by_tokens
from clearhead.data.walk import refuse_another_walk
from clearhead.errors import UserError

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class BatchPlan:
    """How a corpus is cut into batches.

    Attributes:
        max_tokens: a batch of b pairs has b · max(src_len, tgt_len) ≤ max_tokens,
            padding and the end-of-sentence token included.
        window: pairs that are sorted by length together.
        max_pairs: the most pairs in a batch; None means no limit but max_tokens.
        seed: another seed, another order.
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
                raise UserError(f"{name}={value}, expected a whole number of at least 1")


class TokenBatches(Iterator[Batch]):
    """An endless walk through a corpus, epoch after epoch, each pair once in each.

    Raises:
        UserError: the corpus is empty.
    """

    def __init__(self, corpus: EncodedCorpus, plan: BatchPlan) -> None:
        if not len(corpus):
            raise UserError(
                f"no pair is left to train on ({corpus.skipped} were too long or empty); "
                "give more text, or a larger maximum length"
            )
        self.corpus, self.plan = corpus, plan
        self.epoch = self.window = self.index = 0
        self._rows: Rows | None = None
        self._indices: Ints = np.zeros(0, dtype=np.int64)
        self._batches: list[Ints] = []
        self._filled = self._total = 0

    @property
    def padding_share(self) -> float:
        """Padding among all positions delivered so far, source and target together."""
        return 1 - self._filled / self._total if self._total else 0.0

    def state(self) -> dict[str, int]:
        """The position before the next batch, and what it depends on."""
        return {"epoch": self.epoch, "window": self.window, "index": self.index, **self._setting()}

    def restore(self, state: dict[str, int]) -> None:
        """Go to a position from `state`; the following batches are the same, bit by bit.

        Raises:
            UserError: the position belongs to another corpus or plan.
        """
        refuse_another_walk(state, self._setting())
        self.epoch, self.window, self.index = state["epoch"], state["window"], state["index"]
        self._rows = None

    def __next__(self) -> Batch:
        if self._rows is None:
            self._rows = self._load_window()
        chosen = self._batches[self.index]
        source, target = pad_rows(self._rows, chosen, self.plan.pad_id, self.plan.eos_id)
        batch = Batch(
            source=source,
            target=target,
            indices=self._indices[chosen],
            source_tokens=int(self._rows.source_lengths[chosen].sum()) + len(chosen),
            target_tokens=int(self._rows.target_lengths[chosen].sum()) + len(chosen),
            epoch=self.epoch,
            window=self.window,
            index=self.index,
        )
        self._filled += batch.source_tokens + batch.target_tokens
        self._total += batch.source.size + batch.target.size
        self._advance()
        return batch

    def _setting(self) -> dict[str, int]:
        plan = self.plan
        most = plan.max_pairs or 0
        return {
            "seed": plan.seed,
            "max_tokens": plan.max_tokens,
            "window_pairs": plan.window,
            "max_pairs": most,
            "pairs": len(self.corpus),
            "digest": int(self.corpus.digest[:15], 16),
        }

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
        """Read a window and cut it: which pairs, and in which batches."""
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
