"""Folds for cross-validation, duplicates between them, and clusters of similar sequences."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clearhead.data.ordering import Permutation
from clearhead.data.sequences import Record
from clearhead.errors import UserError

Ints = NDArray[np.int64]
WORD = 4  # letters of the words by which similarity is estimated


def stratified(labels: Sequence[str], folds: int, seed: int) -> Ints:
    """A fold (of two or more) for every record; each has each label equally often, within one."""
    if not 2 <= folds <= len(labels):
        raise UserError(f"{folds} folds of {len(labels)} records; give 2 to {len(labels)}")
    found = np.zeros(len(labels), dtype=np.int64)
    names = np.array(labels)
    filled = 0
    for rank, label in enumerate(sorted(set(labels))):
        rows = np.flatnonzero(names == label)
        shuffled = rows[Permutation(len(rows), seed, rank)(np.arange(len(rows)))]
        found[shuffled] = (np.arange(len(rows)) + filled) % folds
        filled += len(rows)
    return found


def grouped(groups: Ints, folds: int, seed: int) -> Ints:
    """A fold for every record, each group in one; the largest first, and no fewer than folds."""
    names, sizes = np.unique(groups, return_counts=True)
    if len(names) < folds:
        raise UserError(
            f"{len(names)} clusters of similar sequences for {folds} folds; give a higher "
            "--similarity or fewer folds"
        )
    ties = Permutation(len(names), seed)(np.arange(len(names)))
    loads, found = np.zeros(folds, dtype=np.int64), np.zeros(len(groups), dtype=np.int64)
    for number in np.lexsort((ties, -sizes)):
        least = int(loads.argmin())
        found[groups == names[number]] = least
        loads[least] += sizes[number]
    return found


def duplicates(records: Sequence[Record], folds: Ints) -> int:
    """How many records have the same sequence as a record of another fold."""
    homes: dict[str, set[int]] = {}
    for record, fold in zip(records, folds.tolist(), strict=True):
        homes.setdefault(record.content, set()).add(fold)
    return sum(len(homes[record.content]) > 1 for record in records)


def clusters(sequences: Sequence[str], similarity: float) -> Ints:
    """A cluster number for every sequence; similar sequences share one.

    Greedy, the longest first (as CD-HIT): a sequence joins the first cluster whose
    representative shares at least `similarity` of its 4-letter words, else it founds one. The
    share of words underestimates identity: two DNA sequences of 90 % identity share about two
    thirds of their words.

    Raises:
        UserError: `similarity` is not between 0 and 1.
    """
    if not 0 < similarity <= 1:
        raise UserError(f"--similarity {similarity} is not a fraction; give 0 (off) to 1")
    words = [_words(sequence) for sequence in sequences]
    order = sorted(range(len(sequences)), key=lambda i: -len(words[i]))
    found = np.zeros(len(sequences), dtype=np.int64)
    homes: dict[str, list[int]] = {}  # word -> representatives that have it
    count = 0
    for number in order:
        shared: dict[int, int] = {}
        for word in words[number]:
            for cluster in homes.get(word, ()):
                shared[cluster] = shared.get(cluster, 0) + 1
        similar = [c for c, n in shared.items() if n >= similarity * len(words[number])]
        if similar:
            found[number] = min(similar)
            continue
        found[number] = count
        for word in words[number]:
            homes.setdefault(word, []).append(count)
        count += 1
    return found


def _words(sequence: str) -> set[str]:
    return {sequence[i : i + WORD] for i in range(max(1, len(sequence) - WORD + 1))}
