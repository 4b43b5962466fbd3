"""A random order of 0 … n−1 that takes no memory and starts anywhere.

Shuffling ten million numbers needs a list of ten million numbers, and taking up
a training run again would need all of it back. A Feistel network is a bijection
on pairs of halves, whatever its round function is: (l, r) → (r, l ⊕ F(r)). On the
smallest square power of two ≥ n it permutes more numbers than wanted; walking the
cycle until the number is < n ("cycle walking", Black and Rogaway, *Ciphers with
Arbitrary Finite Domains*, 2002) makes it a permutation of exactly n.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

ROUNDS = 8


class Permutation:
    """A seeded pseudo-random permutation of range(size).

    Args:
        size: how many numbers are permuted.
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

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """What stands at these positions; any shape in, the same shape out.

        Raises:
            IndexError: a position outside range(size).
        """
        values = np.asarray(positions, dtype=np.int64)
        if values.size and not (values.min() >= 0 and values.max() < self.size):
            raise IndexError(f"positions must lie in range({self.size})")
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
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): every bit moves every bit."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
