"""A sentence's result has the same bits alone and in any batch, with any number of threads."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead.decoding import DecodingOptions, Hypothesis, NativeEngine
from clearhead.models import Transformer
from clearhead.models.native import FAMILIES, native_model
from clearhead.native.model import NativeModel
from clearhead.native.session import hidden_states
from tests.native.library import KERNELS
from tests.native.models import (
    SIZES,
    SRC_LEN,
    bert,
    esm,
    in_float16,
    random_sources,
    translator,
    with_float16_weights,
)

OPTIONS = {
    "greedy": DecodingOptions(beam_size=1),
    "beam": DecodingOptions(beam_size=3, n_best=2, no_repeat_ngram=3, length_penalty=0.6),
}
PRECISIONS = ("float32", "float16", "int8")
SOURCES = random_sources(translator(), 110)


@cache
def engine(kernels: str, precision: str) -> NativeEngine:
    """With float16 weights: float32 arithmetic, other kernels for few rows than for many."""
    model = translator()
    if precision != "float16":
        return NativeEngine(model.config, native_model(model, precision == "int8", kernels), 1)
    return NativeEngine(model.config, with_float16_weights(model, kernels), 1)


@cache
def alone(kernels: str, precision: str, search: str) -> list[list[Hypothesis]]:
    own = engine(kernels, precision)
    return [own.decode([source], OPTIONS[search])[0] for source in SOURCES]


@pytest.mark.parametrize("search", OPTIONS)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kernels", KERNELS)
@settings(max_examples=6)
@given(
    order=st.permutations(range(len(SOURCES))),
    count=st.integers(2, len(SOURCES)),
    threads=st.integers(1, 2),
    together=st.integers(1, 64),
)
def test_a_translation_does_not_depend_on_the_batch(
    kernels: str,
    precision: str,
    search: str,
    order: list[int],
    count: int,
    threads: int,
    together: int,
) -> None:
    chosen, own = order[:count], engine(kernels, precision)
    options = replace(OPTIONS[search], batch_sentences=together)
    several = NativeEngine(own.config, own.model, threads)
    found = several.decode([SOURCES[i] for i in chosen], options)
    assert found == [alone(kernels, precision, search)[i] for i in chosen]


@pytest.mark.parametrize("search", OPTIONS)
def test_precisions_find_different_scores(search: str) -> None:
    """Three precisions are compared above, not one of them three times."""
    scores = [
        [best[0].score for best in alone(KERNELS[0], precision, search)] for precision in PRECISIONS
    ]
    for one, other in itertools.combinations(scores, 2):
        assert np.not_equal(one, other).mean() > 0.9


@pytest.mark.parametrize("kernels", KERNELS)
def test_float16_weights_are_computed_with_as_float32(kernels: str) -> None:
    """They only take less memory: the bits are those of the same weights in float32."""
    parts = FAMILIES[Transformer](translator())
    narrow = in_float16(parts)
    wide = narrow[0], {k: v.astype(np.float32) for k, v in narrow[1].items()}, narrow[2]
    engines = [
        NativeEngine(translator().config, NativeModel(*of, kernels=kernels), 1)
        for of in (narrow, wide)
    ]
    for options in OPTIONS.values():
        found, expected = (own.decode(SOURCES, options) for own in engines)
        assert found == expected


def random_texts(lengths: Sequence[int]) -> list[np.ndarray[tuple[int, int], np.dtype[np.float32]]]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=(n, SIZES["d_model"])).astype(np.float32) for n in lengths]


@pytest.mark.parametrize("make", [bert, esm])
@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("kernels", KERNELS)
def test_hidden_states_of_a_text_do_not_depend_on_the_batch(
    kernels: str, int8: bool, make: type
) -> None:
    native = native_model(make(), int8, kernels)
    texts = random_texts([7, 1, SRC_LEN, 12, 1, *[15] * 20])  # more rows than one product takes
    together = hidden_states(native, texts)
    for text, hidden in zip(texts, together, strict=True):
        np.testing.assert_array_equal(hidden_states(native, [text])[0], hidden)
