"""Our block and torch's, with the same weights: how the proofs of equality are set up.

Every size differs from every other, so that an axis taken for another one shows.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import (
    DecoderBlock,
    EncoderBlock,
    FeedForwardBlock,
    LayerNormalization,
    MultiHeadAttentionBlock,
)

BATCH, HEADS, QUERY, KEY, D_K, D_FF = 3, 4, 5, 6, 7, 11
D_MODEL = HEADS * D_K
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}
both_precisions = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


class Same(NamedTuple):
    """Our weight is `scale` times these rows of theirs."""

    ours: nn.Parameter
    theirs: nn.Parameter
    rows: slice = slice(None)
    scale: float = 1.0


def random(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def scramble(ours: nn.Module, dtype: torch.dtype) -> None:
    """Weights without any symmetry: no ones, no zeros."""
    for parameter in ours.parameters():
        nn.init.normal_(parameter, mean=0.05, std=0.3)
    ours.to(dtype)


def copy_weights(same: Iterable[Same]) -> None:
    with torch.no_grad():
        for ours, theirs, rows, scale in same:
            theirs[rows] = ours / scale


def assert_same(name: str, ours: Tensor | None, theirs: Tensor | None) -> None:
    assert ours is not None and theirs is not None, name
    bound = TOLERANCE[ours.dtype]
    torch.testing.assert_close(
        ours, theirs, atol=bound, rtol=bound, msg=lambda text: f"{name}: {text}"
    )


def assert_same_everywhere(
    outputs: tuple[Tensor, Tensor], inputs: tuple[list[Tensor], list[Tensor]], same: list[Same]
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


def same_linear(ours: nn.Linear, theirs: nn.Linear) -> Iterator[Same]:
    yield Same(ours.weight, theirs.weight)
    if ours.bias is not None:
        yield Same(ours.bias, theirs.bias)


def same_attention(ours: MultiHeadAttentionBlock, theirs: nn.MultiheadAttention) -> Iterator[Same]:
    for number, linear in enumerate((ours.w_q, ours.w_k, ours.w_v)):
        rows = slice(number * ours.d_model, (number + 1) * ours.d_model)
        yield Same(linear.weight, theirs.in_proj_weight, rows)
        if linear.bias is not None:
            yield Same(linear.bias, theirs.in_proj_bias, rows)
    yield from same_linear(ours.w_o, theirs.out_proj)


def same_norm(ours: LayerNormalization, theirs: nn.LayerNorm) -> Iterator[Same]:
    n = theirs.weight.numel()
    yield Same(ours.alpha, theirs.weight, scale=math.sqrt(n / (n - 1)))  # the stated relation
    yield Same(ours.bias, theirs.bias)


def same_layer(
    ours: EncoderBlock | DecoderBlock,
    theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer,
) -> Iterator[Same]:
    yield from same_attention(ours.self_attention_block, theirs.self_attn)
    if isinstance(ours, DecoderBlock):
        yield from same_attention(ours.cross_attention_block, theirs.multihead_attn)
    yield from same_linear(ours.feed_forward_block.linear_1, theirs.linear1)
    yield from same_linear(ours.feed_forward_block.linear_2, theirs.linear2)
    for number, residual in enumerate(ours.residual_connections, start=1):
        yield from same_norm(residual.norm, getattr(theirs, f"norm{number}"))


def attention() -> MultiHeadAttentionBlock:
    return MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)


def feed_forward() -> FeedForwardBlock:
    return FeedForwardBlock(D_MODEL, D_FF, 0.0)


def padded_keys(lengths: Iterable[int], key: int) -> Tensor:
    """True where a word stands: (batch, key), every sentence of another length."""
    return torch.arange(key)[None, :] < torch.tensor(list(lengths))[:, None]
