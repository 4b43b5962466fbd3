"""LoRA's matrix: nothing before training, W + (alpha / r) B A after it, and gradients where due."""

import math

import pytest
import torch
from torch import nn

from clearhead.blocks import LowRankLinear
from clearhead.errors import UserError


def learned(bias: bool = True, rank: int = 3, alpha: float = 5.0) -> LowRankLinear:
    part = LowRankLinear(nn.Linear(7, 11, bias=bias), rank, alpha).double()
    nn.init.normal_(part.up.weight)
    return part


@pytest.mark.parametrize("bias", [True, False])
def test_before_training_it_is_the_frozen_matrix_to_the_last_bit(bias: bool) -> None:
    linear = nn.Linear(7, 11, bias=bias)
    x = torch.randn(2, 5, 7)
    before = linear(x)
    assert torch.equal(LowRankLinear(linear, 3, 16.0, dropout=0.3)(x), before)


@pytest.mark.parametrize("bias", [True, False])
def test_it_computes_equation_3(bias: bool) -> None:
    part = learned(bias)
    x = torch.randn(2, 5, 7, dtype=torch.float64)
    A, B = part.down.weight, part.up.weight
    expected = x @ part.linear.weight.T + 5.0 / 3 * (x @ A.T @ B.T)
    expected = expected + part.linear.bias if bias else expected
    torch.testing.assert_close(part(x), expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("bias", [True, False])
def test_merged_is_an_ordinary_matrix_that_says_the_same(bias: bool) -> None:
    part = learned(bias).float()
    whole = part.merged()
    assert type(whole) is nn.Linear and (whole.bias is not None) is bias
    x = torch.randn(2, 5, 7)
    torch.testing.assert_close(whole(x), part(x), atol=1e-5, rtol=1e-5)
    assert not torch.equal(whole.weight, part.linear.weight)


def test_gradients_are_those_of_the_product_and_the_frozen_matrix_has_none() -> None:
    part = learned()
    x = torch.randn(2, 5, 7, dtype=torch.float64)
    grad = torch.randn(2, 5, 11, dtype=torch.float64)
    part(x).backward(grad)
    full = torch.einsum("bso,bsi->oi", grad, x) * part.scale  # of the product B A
    assert part.linear.weight.grad is None and part.linear.bias.grad is None
    torch.testing.assert_close(part.up.weight.grad, full @ part.down.weight.T)
    torch.testing.assert_close(part.down.weight.grad, part.up.weight.T @ full)


def test_at_the_start_only_b_learns_so_the_first_step_moves_it() -> None:
    part = LowRankLinear(nn.Linear(7, 11), 3, 16.0)
    part(torch.randn(4, 7)).square().sum().backward()
    assert part.up.weight.grad is not None and part.up.weight.grad.abs().max() > 0
    assert part.down.weight.grad is not None and not part.down.weight.grad.any()


def test_a_begins_as_a_linear_layer_does_and_b_at_zero() -> None:
    part = LowRankLinear(nn.Linear(400, 300), 20, 1.0)
    bound = 1 / math.sqrt(400)
    assert part.down.weight.abs().max() <= bound
    assert abs(part.down.weight.std().item() * math.sqrt(3) / bound - 1) < 0.1
    assert not part.up.weight.any()
    assert sum(p.numel() for p in part.parameters() if p.requires_grad) == 20 * (400 + 300)


@pytest.mark.parametrize("rank", [0, -1, 8])
def test_a_rank_that_is_no_economy_is_refused(rank: int) -> None:
    with pytest.raises(UserError, match=r"rank=.* 11 by 7; give one from 1 to 7$"):
        LowRankLinear(nn.Linear(7, 11), rank, 1.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_update_is_of_the_data_type_of_the_matrix(dtype: torch.dtype) -> None:
    part = LowRankLinear(nn.Linear(7, 11, dtype=dtype), 3, 5.0)
    nn.init.normal_(part.up.weight)
    x = torch.randn(2, 5, 7, dtype=dtype)
    close = {"atol": 1e-12, "rtol": 0} if dtype == torch.float64 else {"atol": 0.1, "rtol": 0.1}
    assert {p.dtype for p in part.merged().parameters()} == {part(x).dtype} == {dtype}
    torch.testing.assert_close(part.merged()(x), part(x), **close)
