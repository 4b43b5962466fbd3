"""Layer normalization against its formula, against torch's, and its call forms."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from clearhead.blocks import LayerNormalization
from clearhead.compare.proofs.proof import randomize
from clearhead.compare.proofs.shared_weights import copy_weights, norm_pairs
from tests.blocks.twins import (
    BATCH,
    D_MODEL,
    QUERY,
    assert_same,
    assert_same_everywhere,
    both_precisions,
    random,
    twice,
)


def by_hand(row: list[float], alpha: list[float], bias: list[float], eps: float) -> list[float]:
    n = len(row)
    mean = math.fsum(row) / n
    sigma = math.sqrt(math.fsum((x - mean) ** 2 for x in row) / (n - 1))
    return [a * (x - mean) / (sigma + eps) + b for x, a, b in zip(row, alpha, bias, strict=True)]


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=9),
    st.sampled_from([0.1, 1e-6, 1e-5]),
    st.randoms(use_true_random=False),
)
def test_it_is_its_formula(row: list[float], eps: float, dice) -> None:
    norm = LayerNormalization(len(row), eps).double()
    alpha, bias = ([dice.uniform(-2, 2) for _ in row] for _ in range(2))
    with torch.no_grad():
        norm.alpha.copy_(torch.tensor(alpha))
        norm.bias.copy_(torch.tensor(bias))
    ours = norm(torch.tensor(row, dtype=torch.float64))
    alpha, bias = norm.alpha.tolist(), norm.bias.tolist()
    expected = torch.tensor(by_hand(row, alpha, bias, eps), dtype=torch.float64)
    # Rows that are constant but for rounding are divided by epsilon: hence the relative bound.
    torch.testing.assert_close(ours, expected, atol=1e-6, rtol=1e-10)


@both_precisions
def test_without_epsilon_it_is_torchs_through_the_stated_relation(dtype: torch.dtype) -> None:
    ours, theirs = LayerNormalization(D_MODEL, eps=0.0), nn.LayerNorm(D_MODEL, eps=0.0, dtype=dtype)
    randomize(ours, dtype)
    same = list(norm_pairs(ours, theirs))
    copy_weights(same)
    (x,), (y,) = inputs = twice(random(BATCH, QUERY, D_MODEL, dtype=dtype))
    assert_same_everywhere((ours(x), theirs(y)), inputs, same)


def test_the_example_of_the_docstring() -> None:
    x = torch.tensor([1.0, 0.0, 0.0, 0.0])
    assert_same("ours", LayerNormalization(4, eps=0.0)(x)[0].detach(), torch.tensor(1.5))
    assert_same("torch's", nn.LayerNorm(4, eps=0.0)(x)[0].detach(), torch.tensor(math.sqrt(3)))


@pytest.mark.parametrize(
    ("norm", "numbers", "eps"),
    [
        (LayerNormalization(), 1, 1e-6),
        (LayerNormalization(eps=1e-3), 1, 1e-3),
        (LayerNormalization(10**-6), 1, 1e-6),
        (LayerNormalization(512), 512, 1e-6),
        (LayerNormalization(512, 1e-5), 512, 1e-5),
        (LayerNormalization(features=512, eps=1e-5), 512, 1e-5),
    ],
    ids=["()", "(eps=)", "(1e-6)", "(features)", "(features, eps)", "(features=, eps=)"],
)
def test_the_sources_call_forms(norm: LayerNormalization, numbers: int, eps: float) -> None:
    assert norm.alpha.shape == norm.bias.shape == (numbers,)
    assert norm.eps == eps
    assert norm(torch.randn(2, 3, 512)).shape == (2, 3, 512)


def test_a_constant_vector_gives_zeros_and_finite_gradients() -> None:
    x = torch.full((2, 3, 5), 7.0, requires_grad=True)
    y = LayerNormalization()(x)
    y.square().sum().backward()
    assert torch.equal(y, torch.zeros(2, 3, 5))
    assert x.grad is not None and x.grad.isfinite().all()


@pytest.mark.parametrize("features", [8.0, 1.0])
def test_a_number_of_features_that_is_a_float_is_no_epsilon(features: float) -> None:
    with pytest.raises(TypeError, match="not float"):
        LayerNormalization(features)
