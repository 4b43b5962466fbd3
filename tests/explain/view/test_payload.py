"""Packed weights are within their error bound and their budget."""

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.explain.attention import AttentionMap
from clearhead.explain.view import payload as payloads
from clearhead.explain.view.payload import LEVELS, encode, error_bound, pack

SHAPE = (2, 5, 7)


def softmax_rows(seed: int, spread: float, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    scores = spread * np.random.default_rng(seed).normal(size=shape)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def decode(data: bytes, shape: tuple[int, ...], levels: int) -> np.ndarray:
    """The weights as the page reconstructs them."""
    rows = shape[0] * shape[1]
    tops = np.frombuffer(data, dtype="<u2", count=rows).astype(np.float32) / 65535
    codes = np.frombuffer(data, dtype=np.uint8, offset=2 * rows).astype(np.float32)
    shares = (codes.reshape(shape) / levels) ** 2
    return (tops.reshape(shape[:2])[..., None] * shares).astype(np.float32)


def map_of(weights: np.ndarray) -> AttentionMap:
    layers, heads, queries, keys = weights.shape
    words = tuple(map(str, range(queries))), tuple(map(str, range(keys)))
    return AttentionMap("cross", weights, *words, tuple(range(layers)), tuple(range(heads)))


@given(st.integers(0, 10_000), st.floats(0, 30), st.sampled_from(LEVELS))
def test_no_weight_exceeds_the_error_bound(seed: int, spread: float, levels: int) -> None:
    weights = softmax_rows(seed, spread)
    again = decode(encode(weights, levels), SHAPE, levels)
    allowed = error_bound(levels) * weights.max(-1, keepdims=True) + 2e-5
    assert (np.abs(again - weights) <= allowed).all()


def test_zero_stays_zero_and_the_largest_stays_the_largest() -> None:
    weights = np.tril(softmax_rows(1, 2.0, (3, 6, 6)))
    weights[0, 2] = 0  # a query with no visible key
    again = decode(encode(weights, 255), weights.shape, 255)
    assert (again[weights == 0] == 0).all()
    assert (again.argmax(-1) == weights.argmax(-1)).all()


def test_fewer_levels_where_the_budget_needs_it() -> None:
    weights = softmax_rows(3, 2.0, (2, 4, 64, 64))
    assert pack([map_of(weights)]).levels == 255
    tight = pack([map_of(weights)], budget=16_000)
    assert 3 < tight.levels < 255
    packed = [base64.b64decode(blob) for blob in tight.maps[0]]
    assert sum(map(len, packed)) <= 16_000
    again = np.stack([decode(zlib.decompress(b), weights.shape[1:], tight.levels) for b in packed])
    allowed = error_bound(tight.levels) * weights.max(-1, keepdims=True) + 2e-5
    assert (np.abs(again - weights) <= allowed).all()


@pytest.mark.parametrize("levels", LEVELS)
def test_the_page_promises_no_more_than_the_error_bound(
    levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payloads, "pack", lambda maps: payloads.Packed(levels, [[]]))
    maps = [map_of(softmax_rows(1, 1.0)[None])]
    shown = payloads.payload(maps, "", payloads.Start(), "light", ())
    percent = shown["exactness"].split()[4]
    assert "e" not in percent
    assert 100 * error_bound(levels) <= float(percent) < 100 * error_bound(levels) + 0.1001


def test_the_fewest_levels_ignore_the_budget() -> None:
    assert pack([map_of(softmax_rows(3, 2.0, (1, 1, 9, 9)))], budget=1).levels == LEVELS[-1]


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_512_words_in_6_layers_of_8_heads_fit_into_6_megabytes(spread: float) -> None:
    """One random layer represents six: they all compress alike."""
    weights = softmax_rows(5, spread, (1, 8, 512, 512))
    packed = pack([map_of(weights)], budget=4_400_000 // 6)
    characters = 6 * sum(map(len, packed.maps[0]))
    assert characters <= 5_900_000
    assert packed.levels > LEVELS[-1]
