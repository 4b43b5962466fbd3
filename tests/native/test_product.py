"""One linear layer alone: the int8 formula to the bit, float32 against float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from clearhead.native.library import address
from clearhead.native.model import PROJECTION, NativeModel
from clearhead.native.weights import Floats, ModelSizes, Tables
from tests.native.library import KERNELS

D_MODEL, VOCABULARY = 60, 133  # padded to 64 and 192
INPUTS = st.integers(1, 150) | st.integers(1000, 1200)  # float32 sums 1,024 at a time


def linear(weight: Floats, bias: Floats, int8: bool, kernels: str) -> NativeModel:
    """A model that consists of its output projection."""
    out, d_model = weight.shape
    sizes = ModelSizes(d_model=d_model, h=1, d_ff=1, tgt_vocab=out)
    tensors = {"projection.weight": weight, "projection.bias": bias}
    return NativeModel(sizes, tensors, Tables(), int8, kernels)


def product(model: NativeModel, x: Floats) -> Floats:
    """(rows, d_model) -> (rows, vocabulary), in the library."""
    padded = np.zeros((len(x), model.d_model), np.float32)
    padded[:, : x.shape[1]] = x
    y = np.empty((len(x), model.vocabulary), np.float32)
    arguments = model.handle, 0, PROJECTION, address(padded), len(x), address(y)
    model.library.clearhead_product(*arguments)
    return y[:, : model.sizes.tgt_vocab]


def quantize(x: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Integers from -127 to 127 and one scale per row."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    inverse = np.divide(np.float32(127), largest, where=largest > 0, out=np.zeros_like(largest))
    return np.rint(x * inverse).astype(np.int32), largest / np.float32(127)


def int8_product(x: Floats, weight: Floats, bias: Floats) -> Floats:
    """The formula of the int8 kernels; every operation rounds to float32."""
    (integers_x, scale_x), (integers_w, scale_w) = quantize(x), quantize(weight)
    sums = (integers_x @ integers_w.T).astype(np.float32)
    return sums * (scale_x * scale_w.T) + bias


def random_layer(
    rng: np.random.Generator, rows: int, inputs: int, outputs: int
) -> tuple[Floats, Floats, Floats]:
    """Rows and outputs of very different sizes, one of each all zeros."""
    x = rng.normal(size=(rows, inputs)) * 10.0 ** rng.uniform(-3, 3, size=(rows, 1))
    weight = rng.normal(size=(outputs, inputs)) * 10.0 ** rng.uniform(-3, 3, size=(outputs, 1))
    x[rows // 2], weight[outputs // 2] = 0.0, 0.0
    bias = rng.normal(size=outputs)
    return x.astype(np.float32), weight.astype(np.float32), bias.astype(np.float32)


@pytest.mark.parametrize("kernels", KERNELS)
@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 205), INPUTS, st.integers(1, 200))
def test_int8_product_is_bit_identical_to_its_formula(
    kernels: str, seed: int, rows: int, inputs: int, outputs: int
) -> None:
    x, weight, bias = random_layer(np.random.default_rng(seed), rows, inputs, outputs)
    found = product(linear(weight, bias, True, kernels), x)
    np.testing.assert_array_equal(found, int8_product(x, weight, bias))


@pytest.mark.parametrize("kernels", KERNELS)
def test_int8_rounds_halves_to_even(kernels: str) -> None:
    x = np.array([[127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 125.5]], np.float32)
    weight = np.eye(8, dtype=np.float32)
    found = product(linear(weight, np.zeros(8, np.float32), True, kernels), x)
    scale = np.float32(127) * (np.float32(1) * (np.float32(1) / np.float32(127)))
    np.testing.assert_array_equal(found, [np.array([127, 0, 2, 2, 0, -2, -2, 126]) * scale])


@pytest.mark.parametrize("kernels", KERNELS)
def test_largest_int8_sums_do_not_saturate(kernels: str) -> None:
    """Products of pairs reach 2 · 127 · 127, almost the largest 16-bit integer."""
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(7, 148)).astype(np.float32)
    weight = np.concatenate([signs, -signs, np.ones_like(signs)])
    bias = np.zeros(len(weight), np.float32)
    found = product(linear(weight, bias, True, kernels), signs)
    np.testing.assert_array_equal(found, int8_product(signs, weight, bias))
    assert np.abs(found).max() > 147


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("int8", [False, True])
def test_rows_and_weights_near_the_smallest_float_are_zero(kernels: str, int8: bool) -> None:
    """127 / max|x| overflows there."""
    tiny, one = np.full((3, 70), 1e-40, np.float32), np.ones((5, 70), np.float32)
    bias = np.arange(5, dtype=np.float32)
    for x, weight in ((tiny, one), (one[:3], np.full((5, 70), 1e-40, np.float32)), (tiny, tiny)):
        found = product(linear(weight, bias[: len(weight)], int8, kernels), x)
        np.testing.assert_allclose(found, np.tile(bias[: len(weight)], (3, 1)), atol=1e-30)


@pytest.mark.parametrize("kernels", KERNELS)
@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 205), INPUTS, st.integers(1, 200))
def test_float32_product_is_close_to_float64(
    kernels: str, seed: int, rows: int, inputs: int, outputs: int
) -> None:
    x, weight, bias = random_layer(np.random.default_rng(seed), rows, inputs, outputs)
    found = product(linear(weight, bias, False, kernels), x)
    double_x, double_weight = x.astype(np.float64), weight.astype(np.float64)
    expected = double_x @ double_weight.T + bias
    # The error of a sum is proportional to the sum of the magnitudes of its terms.
    bound = 1e-6 * (np.abs(double_x) @ np.abs(double_weight).T + np.abs(bias))
    assert (np.abs(found - expected) <= bound).all()


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("int8", [False, True])
def test_a_row_of_a_product_does_not_depend_on_the_other_rows(kernels: str, int8: bool) -> None:
    x, weight, bias = random_layer(np.random.default_rng(2), 203, D_MODEL, VOCABULARY)
    model = linear(weight, bias, int8, kernels)
    together = product(model, x)
    for first, count in ((0, 1), (1, 2), (95, 3), (7, 97), (202, 1)):
        alone = product(model, x[first : first + count])
        np.testing.assert_array_equal(alone, together[first : first + count])
