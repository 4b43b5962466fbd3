"""Cutting sentences into batches of similar length, so that few positions are padding."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def cut_by_tokens(lengths: Ints, max_tokens: int, max_pairs: int | None) -> list[slice]:
    """Cut a row of sentences, in the order given, into batches of limited padded size.

    A batch of b sentences, the longest of length L, costs b·L tokens; each
    batch is as large as b·L ≤ max_tokens and b ≤ max_pairs allow. A sentence
    that is longer than max_tokens is a batch by itself.
    """
    most = len(lengths) if max_pairs is None else max_pairs
    batches, start, longest = [], 0, 0
    for position, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        size = position - start + 1
        if size > 1 and (size > most or size * longest > max_tokens):
            batches.append(slice(start, position))
            start, longest = position, length
    if len(lengths):
        batches.append(slice(start, len(lengths)))
    return batches


def sorted_batches(
    lengths: Sequence[int] | Ints, max_tokens: int, max_pairs: int | None = None
) -> list[Ints]:
    """Group sentences by length for translation, the longest first.

    Returns:
        For each batch the numbers of its sentences; together they are every number
        once, so `out[batch] = results` restores the original order. The longest
        come first: should memory not suffice, that shows at once.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    return [order[part] for part in cut_by_tokens(sizes[order], max_tokens, max_pairs)]


def by_length(source_lengths: Ints, target_lengths: Ints) -> Ints:
    """An order in which neighbours have nearly equal lengths on both sides.

    The longer side decides, for it is what a batch is limited by. Among equals
    the source ascends, and for the next length it descends, so that nothing
    jumps where the length changes. Ties keep their order.
    """
    longest = np.maximum(source_lengths, target_lengths)
    snake = np.where(longest % 2 == 0, source_lengths, -source_lengths)
    return np.lexsort((snake, longest))
