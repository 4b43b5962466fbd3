r"""The data of a page: tokens, packed weights, and a caution about attention as explanation.

Weights are packed into few bytes with a bounded error. The largest weight of each row is kept in
16 bits, and for each weight w the code

.. math:: c = \text{round}(L \sqrt{w / largest}), \qquad \hat w = largest \, (c / L)^2

The root gives small weights, which are most, more of the codes. L is 255, and smaller where a
page would exceed its budget (512 x 512 tokens in 6 layers of 8 heads are 12.6 million weights).
The codes are deflated layer by layer, so that a page inflates only what it shows.
"""

import base64
import math
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError
from clearhead.explain.attention import AttentionMap, Prediction

Weights = NDArray[np.float32]
Theme = Literal["light", "dark", "auto"]

MAX_WEIGHTS = 3 * 6 * 8 * 512 * 512
MAX_PRODUCTS = 250_000  # two bytes each
BUDGET = 4_400_000  # bytes of all deflated codes; base64 adds a third
LEVELS = (255, 180, 127, 90, 63, 45, 31, 22, 15, 11, 7, 5, 3)
_MAX_16_BIT = 65535
_DESCRIBED = "kind", "title", "queries", "keys", "layers", "heads", "causal", "d_k"
CAUTION: dict[str, Any] = {
    "text": "A large weight shows where the model reads from, not why it produced its output: "
    "other weights can give the same output, and a token with a large weight may not matter. "
    "Whether attention explains anything is disputed:",
    "papers": [
        {"title": paper, "url": f"https://aclanthology.org/{number}/"}
        for number, paper in (
            ("N19-1357", "Jain and Wallace (2019), Attention is not Explanation"),
            ("D19-1002", "Wiegreffe and Pinter (2019), Attention is not not Explanation"),
        )
    ],
}


@dataclass(frozen=True)
class Start:
    """What is shown first; `map`, `layer` and `heads` are list indices (None: all heads)."""

    view: Literal["flow", "map", "model"] = "flow"
    map: int = 0
    layer: int = 0
    heads: list[int] | None = None


def payload(
    maps: Sequence[AttentionMap],
    title: str,
    start: Start,
    theme: Theme,
    predictions: Sequence[Prediction],
) -> dict[str, Any]:
    """A dictionary of plain values, ready for JSON.

    The products q · k are left out where they would make the page large.

    Raises:
        UserError: nothing to show, or more than a browser can hold.
    """
    _check(maps)
    packed = pack(maps)
    percent = math.ceil(1000 * error_bound(packed.levels)) / 10  # never less than the bound
    with_products = sum(one.weights.size for one in maps) <= MAX_PRODUCTS
    described = [
        {name: getattr(one, name) for name in _DESCRIBED}
        | {"blobs": blobs, "scores": pack_products(one.products) if with_products else None}
        for one, blobs in zip(maps, packed.maps, strict=True)
    ]
    return {
        "title": title,
        "theme": theme,
        "start": asdict(start),
        "levels": packed.levels,
        "exactness": f"Weights are exact to {percent:g} % of the largest in their row.",
        "caution": CAUTION,
        "maps": described,
        "predictions": [asdict(prediction) for prediction in predictions],
    }


def _check(maps: Sequence[AttentionMap]) -> None:
    if not maps:
        raise UserError("there is no attention to show; give at least one map")
    for one in maps:
        if not one.weights.size:
            raise UserError(f"{one.title.lower()} has no tokens; give a sentence of at least one")
    count = sum(one.weights.size for one in maps)
    if count > MAX_WEIGHTS:
        raise UserError(
            f"the attention maps have {count:,} weights, and a page holds {MAX_WEIGHTS:,}; give a "
            "shorter sentence, or in Python fewer layers or heads (include_layers, include_heads)"
        )


class Packed(NamedTuple):
    """For every map its layers, deflated and in base64."""

    levels: int
    maps: list[list[str]]


def pack(maps: Sequence[AttentionMap], budget: int = BUDGET) -> Packed:
    """Pack with as many levels as the budget allows; with the fewest if it allows none."""
    for levels in LEVELS[:-1]:
        if found := _within(budget, maps, levels):
            return Packed(levels, found)
    return Packed(LEVELS[-1], _within(None, maps, LEVELS[-1]))


def _within(budget: int | None, maps: Sequence[AttentionMap], levels: int) -> list[list[str]]:
    """Empty as soon as the budget is exceeded."""
    found: list[list[str]] = []
    size = 0
    for one in maps:
        found.append([])
        for layer in one.weights:
            blob = _deflate(encode(layer, levels))
            found[-1].append(base64.b64encode(blob).decode("ascii"))
            size += len(blob)
            if budget is not None and size > budget:
                return []
    return found


def encode(layer: Weights, levels: int) -> bytes:
    """(h, query, key) -> two bytes for each row, then one for each weight."""
    tops = np.ceil(np.clip(layer.max(-1), 0, 1) * _MAX_16_BIT).astype("<u2")
    scale = np.maximum(tops, 1).astype(np.float32)[..., None] / _MAX_16_BIT
    codes = np.rint(levels * np.sqrt(np.clip(layer / scale, 0, 1))).astype(np.uint8)
    return tops.tobytes() + codes.tobytes()


def pack_products(products: Weights | None) -> list[dict[str, Any]] | None:
    """The products q · k of each layer as 16-bit integers with a common scale."""
    if products is None:
        return None
    packed = []
    for layer in products:
        scale = max(float(np.abs(layer).max()), 1e-9) / 32767
        codes = np.rint(layer / scale).astype("<i2").tobytes()
        packed.append({"scale": scale, "blob": base64.b64encode(_deflate(codes)).decode("ascii")})
    return packed


def error_bound(levels: int) -> float:
    """The largest error of a weight, as a share of the largest weight of its row (plus 2e-5)."""
    return 1 / levels + 1 / (4 * levels**2)


def _deflate(data: bytes) -> bytes:
    # Z_RLE: runs and Huffman codes; searching for longer matches takes seconds and finds none.
    compressor = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return compressor.compress(data) + compressor.flush()
