"""The curve by way of the sigmoid is the curve by way of the tangent."""

import pytest
import torch

from clearhead.blocks.activations import tanh_gelu
from clearhead.fast.tanh_gelu import WORTHWHILE, fast_tanh_gelu


@pytest.mark.parametrize("count", [5, WORTHWHILE + 3])
def test_the_same_function_far_out_too(count: int) -> None:
    x = torch.randn(count, dtype=torch.double) * 4
    x[:4] = torch.tensor([0.0, 80.0, -80.0, -5.0])
    before = x.clone()
    torch.testing.assert_close(fast_tanh_gelu(x), tanh_gelu(x), atol=1e-13, rtol=0)
    assert torch.equal(x, before)


@pytest.mark.parametrize("count", [5, WORTHWHILE + 3])
def test_short_numbers_are_rounded_once(count: int) -> None:
    x = (torch.randn(count) * 4).bfloat16()
    found, exact = fast_tanh_gelu(x), tanh_gelu(x.double())
    assert found.dtype == torch.bfloat16
    assert ((found.double() - exact).abs() <= 2**-8 * exact.abs() + 1e-6).all()
