"""Our block and torch's, with the same weights: how the proofs of equality are set up.

Every size differs from every other, so that an axis taken for another one shows.
"""

from collections.abc import Iterable

import pytest
import torch
from torch import Tensor

from clearhead.blocks import FeedForwardBlock, MultiHeadAttentionBlock
from clearhead.compare.proofs.shared_weights import WeightPair

BATCH, HEADS, QUERY, KEY, D_K, D_FF = 3, 4, 5, 6, 7, 11
D_MODEL = HEADS * D_K
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}
both_precisions = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


def random(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def assert_same(name: str, ours: Tensor | None, theirs: Tensor | None) -> None:
    assert ours is not None and theirs is not None, name
    bound = TOLERANCE[ours.dtype]
    torch.testing.assert_close(
        ours, theirs, atol=bound, rtol=bound, msg=lambda text: f"{name}: {text}"
    )


def assert_same_everywhere(
    outputs: tuple[Tensor, Tensor],
    inputs: tuple[list[Tensor], list[Tensor]],
    same: list[WeightPair],
) -> None:
    """Outputs, gradients of every input and gradients of every weight."""
    assert_same("output", *outputs)
    # A loss in which no two outputs count the same, and whose gradients are of size 1.
    weights = torch.randn_like(outputs[0]) / outputs[0].numel() ** 0.5
    for output in outputs:
        (output * weights).sum().backward()
    for number, (mine, other) in enumerate(zip(*inputs, strict=True)):
        assert_same(f"gradient of input {number}", mine.grad, other.grad)
    for number, (ours, theirs, rows, scale) in enumerate(same):
        assert theirs.grad is not None
        assert_same(f"gradient of weight {number}", ours.grad, theirs.grad[rows] / scale)


def twice(*tensors: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The same inputs for both, each collecting its own gradient."""
    return list(tensors), [t.detach().clone().requires_grad_() for t in tensors]


def attention() -> MultiHeadAttentionBlock:
    return MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)


def feed_forward() -> FeedForwardBlock:
    return FeedForwardBlock(D_MODEL, D_FF, 0.0)


def padded_keys(lengths: Iterable[int], key: int) -> Tensor:
    """True where a word stands: (batch, key), every sentence of another length."""
    return torch.arange(key)[None, :] < torch.tensor(list(lengths))[:, None]
