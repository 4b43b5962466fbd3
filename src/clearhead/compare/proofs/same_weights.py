"""Our blocks and torch.nn's with the same weights; and afterwards, their gradients in pairs."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from clearhead.compare.proofs.proof import Finding, gradient, scramble, side_by_side


class Same(NamedTuple):
    """Our weight is `scale` times these rows of theirs."""

    ours: Tensor
    theirs: Tensor
    rows: slice = slice(None)
    scale: float = 1.0


@torch.no_grad()
def copy_weights(same: Iterable[Same]) -> None:
    """Ours to theirs."""
    for ours, theirs, rows, scale in same:
        theirs[rows] = ours / scale


def gradients(same: Iterable[Same]) -> Iterator[tuple[Tensor, Tensor]]:
    """Ours, and theirs in the measure of ours."""
    for ours, theirs, rows, scale in same:
        yield gradient(ours), gradient(theirs)[rows] / scale


def held(
    ours: nn.Module,
    same: list[Same],
    calls: tuple[Callable[..., Tensor], Callable[..., Tensor]],
    inputs: list[Tensor],
) -> Finding:
    """Random weights for ours, copied to theirs; then both are called and go backwards."""
    scramble(ours, inputs[0].dtype)
    copy_weights(same)
    return side_by_side(*calls, inputs, lambda: gradients(same))


def same_linear(ours: nn.Linear, theirs: nn.Linear) -> Iterator[Same]:
    """Weight and bias."""
    yield Same(ours.weight, theirs.weight)
    if ours.bias is not None:
        yield Same(ours.bias, theirs.bias)


def same_attention(ours: Any, theirs: nn.MultiheadAttention) -> Iterator[Same]:
    """Of our block, or of chapter 3, which writes its names with a capital."""
    names = "wqkvo" if hasattr(ours, "w_q") else "Wqkvo"
    *projections, out = (getattr(ours, f"{names[0]}_{role}") for role in names[1:])
    for number, linear in enumerate(projections):  # torch stacks queries, keys and values
        rows = slice(number * linear.out_features, (number + 1) * linear.out_features)
        yield Same(linear.weight, theirs.in_proj_weight, rows)
        if linear.bias is not None:
            yield Same(linear.bias, theirs.in_proj_bias, rows)
    yield from same_linear(out, theirs.out_proj)


def same_norm(ours: Any, theirs: nn.LayerNorm) -> Iterator[Same]:
    """Ours divides by the unbiased deviation, torch's by the biased: sqrt(n / (n - 1)) apart."""
    n = theirs.weight.numel()
    yield Same(ours.alpha, theirs.weight, scale=math.sqrt(n / (n - 1)))
    yield Same(ours.bias, theirs.bias)


def same_layer(ours: Any, theirs: Any) -> Iterator[Same]:
    """An encoder's or, with its cross-attention, a decoder's."""
    yield from same_attention(ours.self_attention_block, theirs.self_attn)
    if hasattr(ours, "cross_attention_block"):
        yield from same_attention(ours.cross_attention_block, theirs.multihead_attn)
    yield from same_linear(ours.feed_forward_block.linear_1, theirs.linear1)
    yield from same_linear(ours.feed_forward_block.linear_2, theirs.linear2)
    for number, residual in enumerate(ours.residual_connections, start=1):
        yield from same_norm(residual.norm, getattr(theirs, f"norm{number}"))


def same_stack(ours: Any, theirs: Any) -> Iterator[Same]:
    """Its layers and the norm at its end."""
    for pair in zip(ours.layers, theirs.layers, strict=True):
        yield from same_layer(*pair)
    yield from same_norm(ours.norm, theirs.norm)


def same_transformer(ours: Any, theirs: Any) -> Iterator[Same]:
    """Embeddings, both stacks and the projection."""
    yield Same(ours.src_embed.embedding.weight, theirs.src_embed.weight)
    yield Same(ours.tgt_embed.embedding.weight, theirs.tgt_embed.weight)
    yield from same_stack(ours.encoder, theirs.transformer.encoder)
    yield from same_stack(ours.decoder, theirs.transformer.decoder)
    yield from same_linear(ours.projection_layer.proj, theirs.proj)
