"""Habits about weights: how many, how they lie, when they are made and how they begin."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention.difference import (
    BATCH,
    D_MODEL,
    KEY,
    QUERY,
    Difference,
    H,
    answer,
    default,
    named,
    three,
)
from clearhead.models import count_parameters

WIDTH, HEADS = 64, (1, 2, 4, 8)  # of the parameter counts


def rows(keras: Any) -> Iterator[Difference]:
    """Each computed now."""
    yield key_dim(keras)
    yield parameters_as_heads_grow(keras)
    yield parameters_of_the_paper(keras)
    yield heads_that_do_not_divide(keras)
    yield layout()
    yield birth(keras)
    yield other_widths(keras)
    yield bias(keras)
    yield spread(keras)


def built(keras: Any, heads: int, key_dim: int, width: int) -> Any:
    """A layer for queries, keys and values of one width."""
    layer = keras.layers.MultiHeadAttention(heads, key_dim)
    layer.build((None, None, width), (None, None, width))
    return layer


def key_dim(keras: Any) -> Difference:
    """Whose width the size is that one gives."""
    kernel = built(keras, H, D_MODEL, D_MODEL).query_dense.kernel.shape
    theirs, ours = nn.MultiheadAttention(D_MODEL, H), MultiHeadAttentionBlock(D_MODEL, H, 0.0)
    return Difference(
        f"the width that you give, here {D_MODEL} with {H} heads",
        f"key_dim, of each head: {kernel[1]} × {kernel[2]} = {math.prod(kernel[1:])} inside",
        f"embed_dim, of all heads: {theirs.num_heads} × {theirs.head_dim} = "
        f"{theirs.num_heads * theirs.head_dim} inside",
        f"d_model, of all heads: {ours.h} × {ours.d_k} = {ours.h * ours.d_k} inside",
        "for the paper's layer in Keras give key_dim = d_model // num_heads",
    )


def parameters_as_heads_grow(keras: Any) -> Difference:
    """With the one size given as it is."""
    return _parameters(
        f"parameters with {_heads()} heads, the size given being {WIDTH}",
        [built(keras, h, WIDTH, WIDTH).count_params() for h in HEADS],
        "in Keras more heads are more weights unless key_dim shrinks; elsewhere they share",
    )


def parameters_of_the_paper(keras: Any) -> Difference:
    """With key_dim divided by hand."""
    return _parameters(
        f"the same with Keras' key_dim = {WIDTH} // num_heads",
        [built(keras, h, WIDTH // h, WIDTH).count_params() for h in HEADS],
        "now all three have the paper's 4 · d_model² weights and 4 · d_model biases",
    )


def _parameters(topic: str, in_keras: list[int], so: str) -> Difference:
    in_torch = [count_parameters(nn.MultiheadAttention(WIDTH, h)) for h in HEADS]
    in_ours = [count_parameters(MultiHeadAttentionBlock(WIDTH, h, 0.0)) for h in HEADS]
    cells = [" → ".join(f"{count:,}" for count in c) for c in (in_keras, in_torch, in_ours)]
    return Difference.of(topic, cells, so)


def _heads() -> str:
    return " → ".join(map(str, HEADS))


def heads_that_do_not_divide(keras: Any) -> Difference:
    """A width of 64, 5 heads."""
    odd = 5
    return Difference(
        f"{odd} heads for a width of {WIDTH}",
        answer(lambda: built(keras, odd, WIDTH // odd, WIDTH)),
        answer(lambda: nn.MultiheadAttention(WIDTH, odd)),
        answer(lambda: MultiHeadAttentionBlock(WIDTH, odd, 0.0)),
        "in Keras the inner width is free, and such a layer has no twin elsewhere",
    )


def layout() -> Difference:
    """The query's weights and the output's."""
    found = three()
    return Difference(
        "how the weights of queries, and of the output, lie",
        f"{named(found.keras.query_dense.kernel)}, {named(found.keras.output_dense.kernel)}",
        f"{named(found.torch.in_proj_weight)} with keys and values, "
        f"{named(found.torch.out_proj.weight)}",
        f"{named(found.ours.w_q.weight)}, {named(found.ours.w_o.weight)}",
        "Keras multiplies x · W with heads apart, nn.Linear x · Wᵀ: transpose, then view",
    )


def birth(keras: Any) -> Difference:
    """How many tensors there are before the first call."""
    fresh, seen = keras.layers.MultiHeadAttention(H, 7), built(keras, H, 7, D_MODEL)
    theirs, ours = nn.MultiheadAttention(D_MODEL, H), MultiHeadAttentionBlock(D_MODEL, H, 0.0)
    return Difference(
        "tensors of weights before the first call, and after",
        f"{len(fresh.weights)}, {len(seen.weights)}",
        f"{len(list(theirs.parameters()))}, the same",
        f"{len(list(ours.parameters()))}, the same",
        "Keras learns its width from the first input: build the layer before you load weights",
    )


def other_widths(keras: Any) -> Difference:
    """Keys and values of another width than the queries."""
    q, k = torch.randn(BATCH, QUERY, D_MODEL), torch.randn(BATCH, KEY, D_MODEL + 3)
    layer = keras.layers.MultiHeadAttention(H, 7)
    theirs = nn.MultiheadAttention(D_MODEL, H, batch_first=True)
    told = nn.MultiheadAttention(D_MODEL, H, kdim=k.shape[2], vdim=k.shape[2], batch_first=True)
    ours = MultiHeadAttentionBlock(D_MODEL, H, 0.0)
    return Difference(
        "keys and values wider than queries",
        answer(lambda: layer(query=q, key=k, value=k)),
        f"{answer(lambda: theirs(q, k, k))}; told kdim and vdim: {answer(lambda: told(q, k, k))}",
        answer(lambda: ours(q, k, k)),
        "an encoder and a decoder of different widths need their own projection here",
    )


def bias(keras: Any) -> Difference:
    """On or off, and what it begins as."""
    layer = built(keras, H, 7, D_MODEL)
    theirs, ours = nn.MultiheadAttention(D_MODEL, H), MultiHeadAttentionBlock(D_MODEL, H, 0.0)

    def begins(*biases: Any) -> str:
        return "zeros" if not any(b.detach().any() for b in biases) else "random numbers"

    return Difference(
        "bias by default, and as what it begins",
        f"{default(keras.layers.MultiHeadAttention, 'use_bias')}, "
        f"{begins(layer.query_dense.bias.value, layer.output_dense.bias.value)}",
        f"{default(nn.MultiheadAttention, 'bias')}, "
        f"{begins(theirs.in_proj_bias, theirs.out_proj.bias)}",
        f"{default(MultiHeadAttentionBlock, 'bias')}, {begins(ours.w_q.bias, ours.w_o.bias)}",
        "copy the biases, too: a fresh one of ours is not zero",
    )


def spread(keras: Any) -> Difference:
    """Standard deviation of a fresh query matrix."""
    width, heads = 512, 8
    layer = built(keras, heads, width // heads, width)
    theirs = nn.MultiheadAttention(width, heads)
    ours = MultiHeadAttentionBlock(width, heads, 0.0)
    fresh = (layer.query_dense.kernel.value, theirs.in_proj_weight[:width], ours.w_q.weight)
    cells = [f"{float(weight.detach().std()):.4f}" for weight in fresh]
    return Difference.of(
        f"spread of a fresh query matrix, d_model {width}, {heads} heads",
        cells,
        "each draws from a range of its own: trained from scratch they do not begin alike",
    )
