"""Attention weights in few bytes, exact enough to look at, with a bound on the error.

Of each row the largest weight is kept in 16 bits, and of each weight w the code

.. math:: c = \\text{round}(L \\sqrt{w / largest}), \\qquad \\hat w = largest \\, (c / L)^2

The root spends the codes where weights are small, and most are. L is 255, and fewer where a
page would grow beyond its budget (512 x 512 tokens in 6 layers of 8 heads are 12.6 million
weights). The codes are deflated, layer by layer, so that a page unpacks only what it shows.
"""

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearhead.explain.attention_map import AttentionMap

BUDGET = 4_400_000  # bytes of all codes, deflated; base64 makes a third more of them
LEVELS = (255, 180, 127, 90, 63, 45, 31, 22, 15, 11, 7, 5, 3)
_TOP = 65535
Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Packed:
    """For every map its layers, deflated and in base64."""

    levels: int
    maps: tuple[tuple[str, ...], ...]


def pack(maps: Sequence[AttentionMap], budget: int = BUDGET) -> Packed:
    """With as many levels as the budget allows; the fewest if it allows none."""
    for levels in LEVELS:
        blobs = _deflated(maps, levels, budget if levels != LEVELS[-1] else None)
        if blobs is not None:
            break
    texts = tuple(tuple(base64.b64encode(b).decode("ascii") for b in own) for own in blobs or [])
    return Packed(levels, texts)


def encode(layer: Weights, levels: int) -> bytes:
    """(h, query, key) -> two bytes a row, then one a weight."""
    tops = np.ceil(np.clip(layer.max(-1), 0, 1) * _TOP).astype("<u2")
    scale = np.maximum(tops, 1).astype(np.float32)[..., None] / _TOP
    codes = np.rint(levels * np.sqrt(np.clip(layer / scale, 0, 1))).astype(np.uint8)
    return tops.tobytes() + codes.tobytes()


def decode(data: bytes, shape: tuple[int, int, int], levels: int) -> Weights:
    """What a page makes of it again."""
    rows = shape[0] * shape[1]
    tops = np.frombuffer(data, dtype="<u2", count=rows).astype(np.float32) / _TOP
    codes = np.frombuffer(data, dtype=np.uint8, offset=2 * rows).astype(np.float32)
    shares = (codes.reshape(shape) / levels) ** 2
    return (tops.reshape(shape[:2])[..., None] * shares).astype(np.float32)


def error_bound(levels: int) -> float:
    """No weight is further from its own than this times the largest of its row (and 2e-5)."""
    return 1 / levels + 1 / (4 * levels**2)


def _deflate(data: bytes) -> bytes:
    # Runs of zeros and Huffman codes: the search for longer matches finds none, for seconds.
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return packer.compress(data) + packer.flush()


def _deflated(
    maps: Sequence[AttentionMap], levels: int, budget: int | None
) -> list[list[bytes]] | None:
    """None as soon as there is more than the budget."""
    found: list[list[bytes]] = []
    size = 0
    for one in maps:
        found.append([])
        for layer in one.weights:
            found[-1].append(_deflate(encode(layer, levels)))
            size += len(found[-1][-1])
            if budget is not None and size > budget:
                return None
    return found
