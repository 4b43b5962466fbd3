"""The fast feed-forward block is the readable one; relu and dropout share one gradient."""

import copy

import pytest
import torch

from clearhead.blocks.feed_forward import FeedForwardBlock
from clearhead.fast.dropout import CheapDropout, scale_of
from clearhead.fast.feed_forward import FastFeedForwardBlock, relu_dropout


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("training", [False, True])
def test_equal_to_the_readable_one(dtype: torch.dtype, training: bool) -> None:
    """With dropout, too, as long as both draw the same: `nn.Dropout` from one seed."""
    readable = FeedForwardBlock(6, 10, 0.4).to(dtype).train(training)
    fast = FastFeedForwardBlock.twin(copy.deepcopy(readable))
    x = torch.randn(3, 5, 6, dtype=dtype)
    results = []
    for block in (readable, fast):
        torch.manual_seed(4)
        leaf = x.clone().requires_grad_()
        y = block(leaf)
        y.square().sum().backward()
        results.append([y.detach(), leaf.grad, *(p.grad for p in block.parameters())])
    tolerance = {torch.float64: 1e-10, torch.float32: 1e-5}[dtype]
    for ours, theirs in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def test_its_gradient_is_the_one_that_differences_show() -> None:
    x = torch.randn(4, 6, dtype=torch.float64).requires_grad_()
    factors = (torch.rand(4, 6) < 0.6).double() * 1.25
    assert torch.autograd.gradcheck(lambda leaf: relu_dropout(leaf, factors, 1.25), x)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_the_scale_is_the_number_that_kept_ones_become(p: float) -> None:
    for dropout in (CheapDropout(p), torch.nn.Dropout(p)):
        kept = dropout(torch.ones(1000)).unique()
        expected = torch.tensor(sorted({0.0, scale_of(dropout)} if p else {1.0}))
        torch.testing.assert_close(kept, expected)


def test_the_wide_tensor_is_kept_once_for_the_backward() -> None:
    """By relu and dropout apart it is kept three times."""
    block = FastFeedForwardBlock.twin(FeedForwardBlock(6, 10, 0.4)).train()
    kept: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.data_ptr()] = tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        block(torch.randn(3, 5, 6))
    assert list(kept.values()).count(3 * 5 * 10) == 1
