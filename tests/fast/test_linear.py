"""The fused linear layer is `nn.Linear`, whichever kernel does the work."""

import copy

import pytest
import torch
from torch import Tensor, nn

from clearhead.fast import linear as module
from clearhead.fast.linear import FusedLinear, linear


def results(layer: nn.Module, x: Tensor) -> list[Tensor]:
    layer.zero_grad()
    leaf = x.clone().requires_grad_()
    y = layer(leaf)
    y.backward(torch.randn(y.shape, generator=torch.Generator().manual_seed(2)).to(y.dtype))
    assert leaf.grad is not None
    return [y.detach(), leaf.grad, *(p.grad for p in layer.parameters() if p.grad is not None)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(6,), (5, 6), (3, 5, 6), (2, 3, 4, 6)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_equal_to_nn_linear(bias: bool, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    readable = nn.Linear(6, 9, bias=bias).to(dtype)
    x = torch.randn(shape).to(dtype)
    tolerance = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 3e-2}[dtype]
    fast = FusedLinear.twin(copy.deepcopy(readable))
    for ours, theirs in zip(results(fast, x), results(readable, x), strict=True):
        assert ours.dtype == dtype
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def test_the_kernels_gradients_are_the_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel is not used by itself, in float64, its backward is tried all the same."""
    monkeypatch.setattr(module, "_kernel_takes", lambda x: True)
    monkeypatch.setattr(module, "_KERNEL", lambda x, w, b, *_: torch.nn.functional.linear(x, w, b))
    leaves = [torch.randn(s, dtype=torch.float64).requires_grad_() for s in ((2, 3, 4), (5, 4), 5)]
    assert torch.autograd.gradcheck(linear, leaves)


def test_frozen_inputs_get_no_gradient() -> None:
    layer = FusedLinear.twin(nn.Linear(4, 3).bfloat16())
    layer(torch.randn(2, 4).bfloat16()).sum().backward()
    assert layer.weight.grad is not None and layer.bias.grad is not None


def test_a_torch_without_the_kernel_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = FusedLinear.twin(nn.Linear(4, 3).bfloat16())
    x = torch.randn(2, 4).bfloat16()
    ours = layer(x)
    monkeypatch.setattr(module, "_KERNEL", None)
    torch.testing.assert_close(layer(x), ours)


def test_no_rows_and_no_gradient_are_fine() -> None:
    layer = FusedLinear.twin(nn.Linear(4, 3).bfloat16())
    assert layer(torch.zeros(0, 4).bfloat16()).shape == (0, 3)
    with torch.inference_mode():
        assert not layer(torch.zeros(2, 4).bfloat16()).requires_grad
