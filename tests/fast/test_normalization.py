"""The fused normalization is the readable one, gradients included."""

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks.normalization import LayerNormalization
from clearhead.fast.normalization import FusedLayerNormalization

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


def readable(features: int | None, dtype: torch.dtype, eps: float = 1e-6) -> LayerNormalization:
    norm = LayerNormalization(features, eps).to(dtype)
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter += torch.randn_like(parameter)
    return norm


def run(norm: nn.Module, x: Tensor, upstream: Tensor) -> list[Tensor]:
    """Output and gradients: input, then parameters."""
    norm.zero_grad()
    x = x.clone().requires_grad_()
    y = norm(x)
    y.backward(upstream)
    gradients = [p.grad.clone() for p in norm.parameters() if p.grad is not None]
    assert x.grad is not None
    return [y.detach(), x.grad, *gradients]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("features", [None, 6, 31])
def test_equal_to_the_readable_one(features: int | None, dtype: torch.dtype) -> None:
    # Epsilon stands outside the root in one and inside in the other: in float64 that shows.
    norm = readable(features, dtype, eps=1e-6 if dtype == torch.float32 else 1e-13)
    x = 3 + 2 * torch.randn(2, 5, features or 9, dtype=dtype)
    upstream = torch.randn_like(x)
    twin = FusedLayerNormalization.twin(norm)
    tolerance = TOLERANCE[dtype]
    for ours, theirs in zip(run(twin, x, upstream), run(norm, x, upstream), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def test_the_two_epsilons_differ_by_epsilon_over_sigma_at_most() -> None:
    norm, sigma = LayerNormalization(8, 1e-3).double(), 0.5
    x = torch.randn(20, 8, dtype=torch.float64)
    x = sigma * x / x.std(dim=-1, keepdim=True)
    ours, theirs = FusedLayerNormalization.twin(norm)(x), norm(x)
    assert ((ours - theirs).abs() <= 1e-3 / sigma * theirs.abs()).all()


def test_a_constant_row_becomes_the_bias_and_no_nan() -> None:
    norm = readable(7, torch.float32)
    x = torch.full((3, 7), 4.2)
    results = run(FusedLayerNormalization.twin(norm), x, torch.ones_like(x))
    assert all(t.isfinite().all() for t in results)
    torch.testing.assert_close(results[0], norm.bias.detach().expand(3, 7), rtol=0, atol=1e-2)


def test_the_twin_shares_the_parameters() -> None:
    norm = readable(5, torch.float32)
    twin = FusedLayerNormalization.twin(norm)
    assert twin.alpha is norm.alpha and twin.bias is norm.bias and twin.eps == norm.eps
    assert list(twin.state_dict()) == list(norm.state_dict())
