"""The order of training: random permutations, batches of similar length, positions to resume from.

An order is a pure function of its seeds, so that a saved position is a few integers. Shuffling
ten million indices would need a list of ten million integers, and resuming a run would need the
whole list again. `Permutation` computes any part of the order instead.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError

Ints = NDArray[np.int64]
ROUNDS = 8


class Permutation:
    """A seeded pseudo-random permutation of range(size), without memory for its elements.

    A Feistel network is a bijection on pairs of halves, whatever its round function F:
    (l, r) → (r, l ⊕ F(r)). It permutes the integers below the smallest power of four ≥ size.
    Applying it again until the result is < size ("cycle walking", Black and Rogaway, *Ciphers
    with Arbitrary Finite Domains*, 2002) makes it a permutation of exactly `size` integers.

    Args:
        size: how many integers are permuted.
        seeds: any integers; another tuple gives another permutation.
    """

    def __init__(self, size: int, *seeds: int) -> None:
        self.size = size
        bits = max(1, (max(size, 1) - 1).bit_length())
        self._half_bits = np.uint64((bits + 1) // 2)
        self._mask = np.uint64((1 << int(self._half_bits)) - 1)
        digest = hashlib.blake2b(repr((size, seeds)).encode(), digest_size=8 * ROUNDS).digest()
        self._keys: list[np.uint64] = list(np.frombuffer(digest, dtype="<u8").astype(np.uint64))

    def __len__(self) -> int:
        return self.size

    def __call__(self, positions: Ints) -> Ints:
        """The elements at these positions, in their shape; an IndexError outside range(size)."""
        values = np.asarray(positions, dtype=np.int64)
        if values.size and not (values.min() >= 0 and values.max() < self.size):
            raise IndexError(f"positions must be in range({self.size})")
        walked = self._feistel(values.astype(np.uint64).ravel())
        outside = np.flatnonzero(walked >= self.size)
        while outside.size:
            walked[outside] = self._feistel(walked[outside])
            outside = outside[walked[outside] >= self.size]
        return walked.astype(np.int64).reshape(values.shape)

    def _feistel(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = values >> self._half_bits, values & self._mask
        for key in self._keys:
            left, right = right, left ^ (_mix(right ^ key) & self._mask)
        return (left << self._half_bits) | right


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): each bit affects all bits."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def cut_by_tokens(lengths: Ints, max_tokens: int, max_pairs: int | None) -> list[slice]:
    """Cut a sequence of sentences, in the given order, into batches of limited padded size.

    A batch of b sentences, the longest of length L, costs b·L tokens; each batch is as large
    as b·L ≤ max_tokens and b ≤ max_pairs allow. A sentence that is longer than max_tokens
    becomes a batch by itself.
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
    """Group sentences by length for inference, the longest first.

    Returns:
        The indices of the sentences of each batch. Each index occurs once in all batches
        together, so `out[batch] = results` restores the original order. The longest
        sentences come first, so that a lack of memory shows at once.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    return [order[part] for part in cut_by_tokens(sizes[order], max_tokens, max_pairs)]


def by_length(source_lengths: Ints, target_lengths: Ints) -> Ints:
    """An order in which neighbours have nearly equal lengths on both sides.

    The longer side comes first in the comparison, because it limits the batch. Among pairs
    with an equal longer side, the source lengths ascend, and for the next length they descend,
    so that neither side jumps where the longer side changes. Ties keep their order.
    """
    longest = np.maximum(source_lengths, target_lengths)
    snake = np.where(longest % 2 == 0, source_lengths, -source_lengths)
    return np.lexsort((snake, longest))


Item = TypeVar("Item", covariant=True)


class ResumableBatches(Iterator[Item]):
    """An endless sequence of batches in an order that follows from its settings and its position.

    `POSITION` names the attributes that are the position; `_settings` is what the order depends on.
    """

    POSITION: ClassVar[tuple[str, ...]] = ("epoch", "index")

    @abstractmethod
    def _settings(self) -> dict[str, int]: ...

    def _moved(self) -> None:
        """Drop what was prepared for another position."""

    def state(self) -> dict[str, int]:
        """The position before the next batch, and the settings that it depends on."""
        return {name: getattr(self, name) for name in self.POSITION} | self._settings()

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to a position from `state`; the following batches are the same, bit by bit.

        Raises:
            UserError: the position belongs to other data or other batches.
        """
        for name, value in self._settings().items():
            if state[name] != value:
                raise UserError(
                    f"cannot resume from this position in the data: {name} was {state[name]} and "
                    f"is {value} now; resume with the same data and batch settings, or start a "
                    "new run"
                )
        for name in self.POSITION:
            setattr(self, name, state[name])
        self._moved()
