"""Corresponding weights of our blocks and torch.nn, to be copied and to compare gradients."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from clearhead.compare.proofs.proof import Deviation, compare_functions, gradient, randomize


class WeightPair(NamedTuple):
    """Our weight equals `scale` times these rows of theirs."""

    ours: Tensor
    theirs: Tensor
    rows: slice = slice(None)
    scale: float = 1.0


@torch.no_grad()
def copy_weights(pairs: Iterable[WeightPair]) -> None:
    """Copy our weights to theirs."""
    for ours, theirs, rows, scale in pairs:
        theirs[rows] = ours / scale


@torch.no_grad()
def copy_weights_back(pairs: Iterable[WeightPair]) -> None:
    """Copy their weights to ours."""
    for ours, theirs, rows, scale in pairs:
        ours.copy_(theirs[rows] * scale)


def weight_gradients(pairs: Iterable[WeightPair]) -> Iterator[tuple[Tensor, Tensor]]:
    """Our gradients, and theirs in the scale of ours."""
    for ours, theirs, rows, scale in pairs:
        yield gradient(ours), gradient(theirs)[rows] / scale


def compare_with_copied_weights(
    ours: nn.Module,
    pairs: Iterable[WeightPair],
    calls: tuple[Callable[..., Tensor], Callable[..., Tensor]],
    inputs: list[Tensor],
) -> Deviation:
    """Give our module random weights, copy them to theirs, and compare outputs and gradients."""
    pairs = list(pairs)
    randomize(ours, inputs[0].dtype)
    copy_weights(pairs)
    return compare_functions(*calls, inputs, lambda: weight_gradients(pairs))


def linear_pairs(ours: nn.Linear, theirs: nn.Linear) -> Iterator[WeightPair]:
    """Weight and, if there is one, bias."""
    yield WeightPair(ours.weight, theirs.weight)
    if ours.bias is not None:
        yield WeightPair(ours.bias, theirs.bias)


def attention_pairs(ours: Any, theirs: nn.MultiheadAttention) -> Iterator[WeightPair]:
    """Of our block (`w_q` …) or of chapter 3's class (`W_q` …)."""
    names = "wqkvo" if hasattr(ours, "w_q") else "Wqkvo"
    *projections, out = (getattr(ours, f"{names[0]}_{role}") for role in names[1:])
    for index, linear in enumerate(projections):  # torch stacks queries, keys and values
        rows = slice(index * linear.out_features, (index + 1) * linear.out_features)
        yield WeightPair(linear.weight, theirs.in_proj_weight, rows)
        if linear.bias is not None:
            yield WeightPair(linear.bias, theirs.in_proj_bias, rows)
    yield from linear_pairs(out, theirs.out_proj)


def norm_pairs(ours: Any, theirs: nn.LayerNorm) -> Iterator[WeightPair]:
    """Ours divides by the unbiased standard deviation, torch's by the biased one."""
    n = theirs.weight.numel()
    yield WeightPair(ours.alpha, theirs.weight, scale=math.sqrt(n / (n - 1)))
    yield WeightPair(ours.bias, theirs.bias)


def layer_pairs(ours: Any, theirs: Any) -> Iterator[WeightPair]:
    """Of an encoder layer or, with its cross-attention, of a decoder layer."""
    yield from attention_pairs(ours.self_attention_block, theirs.self_attn)
    if hasattr(ours, "cross_attention_block"):
        yield from attention_pairs(ours.cross_attention_block, theirs.multihead_attn)
    yield from linear_pairs(ours.feed_forward_block.linear_1, theirs.linear1)
    yield from linear_pairs(ours.feed_forward_block.linear_2, theirs.linear2)
    for number, residual in enumerate(ours.residual_connections, start=1):
        yield from norm_pairs(residual.norm, getattr(theirs, f"norm{number}"))


def stack_pairs(ours: Any, theirs: Any) -> Iterator[WeightPair]:
    """Of all layers and the final norm."""
    for layers in zip(ours.layers, theirs.layers, strict=True):
        yield from layer_pairs(*layers)
    yield from norm_pairs(ours.norm, theirs.norm)


def transformer_pairs(ours: Any, theirs: Any) -> Iterator[WeightPair]:
    """Of the embeddings, both stacks and the projection."""
    yield WeightPair(ours.src_embed.embedding.weight, theirs.src_embed.weight)
    yield WeightPair(ours.tgt_embed.embedding.weight, theirs.tgt_embed.weight)
    yield from stack_pairs(ours.encoder, theirs.transformer.encoder)
    yield from stack_pairs(ours.decoder, theirs.transformer.decoder)
    yield from linear_pairs(ours.projection_layer.proj, theirs.proj)
