"""The norm of trained models: its formula, and how far the sources' norm is from it."""

import math

import torch
from torch import nn

from clearhead.blocks import BiasedLayerNormalization, LayerNormalization

FEATURES, EPS = 7, 1e-3


def random_norm() -> BiasedLayerNormalization:
    norm = BiasedLayerNormalization(FEATURES, EPS).double()
    nn.init.normal_(norm.alpha)
    nn.init.normal_(norm.bias)
    return norm


def test_it_is_its_formula() -> None:
    norm, x = random_norm(), torch.randn(2, 5, FEATURES, dtype=torch.float64)
    for row, found in zip(x.flatten(0, 1).tolist(), norm(x).flatten(0, 1).tolist(), strict=True):
        mean = math.fsum(row) / FEATURES
        variance = math.fsum((value - mean) ** 2 for value in row) / FEATURES
        expected = [
            a * (value - mean) / math.sqrt(variance + EPS) + b
            for a, b, value in zip(norm.alpha.tolist(), norm.bias.tolist(), row, strict=True)
        ]
        torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


def test_it_is_torchs_whose_weight_is_alpha_gradients_included() -> None:
    norm, torchs = random_norm(), nn.LayerNorm(FEATURES, EPS).double()
    torchs.load_state_dict({"weight": norm.alpha, "bias": norm.bias})
    x = torch.randn(2, 5, FEATURES, dtype=torch.float64, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    norm(x).square().sum().backward()
    torchs(y).square().sum().backward()
    for ours, theirs in ((x, y), (norm.alpha, torchs.weight), (norm.bias, torchs.bias)):
        torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-10, rtol=0)


def test_the_sources_norm_is_smaller_by_the_root_that_the_docstring_names() -> None:
    biased = BiasedLayerNormalization(FEATURES, 0.0).double()
    sources = LayerNormalization(FEATURES, 0.0).double()
    x = torch.randn(3, FEATURES, dtype=torch.float64)
    ratio = biased(x) / sources(x)
    torch.testing.assert_close(ratio, torch.full_like(x, math.sqrt(FEATURES / (FEATURES - 1))))


def test_in_bfloat16_its_sums_are_float32() -> None:
    x = (torch.randn(4, 512) + 3).bfloat16()
    found = BiasedLayerNormalization(512).bfloat16()(x)
    exact = BiasedLayerNormalization(512)(x.float())
    torch.testing.assert_close(found, exact.bfloat16(), atol=0, rtol=0)
