"""Conventions about calls: the order of arguments and axes, dropout, and the returned values."""

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention.conversion import to_keras, to_torch
from clearhead.compare.keras_attention.difference import (
    BATCH,
    D_MODEL,
    QUERY,
    Difference,
    H,
    default,
    equal_layers,
    inputs,
    named,
    new_torch_and_ours,
)


def rows(keras: Any) -> Iterator[Difference]:
    """All rows, computed now."""
    yield order_of_arguments()
    yield order_of_axes(keras)
    yield returned()
    yield scores()
    yield scores_under_dropout()
    yield dropout(keras)
    yield float64()


def order_of_arguments() -> Difference:
    """The first three parameters."""
    layers = equal_layers()
    calls = (layers.keras.call, layers.torch.forward, layers.ours.forward)
    return Difference.of(
        "the first three arguments of a call",
        [", ".join(list(inspect.signature(call).parameters)[:3]) for call in calls],
        "keys and values have one shape, so the wrong order raises nothing: name them",
    )


def order_of_axes(keras: Any) -> Difference:
    """Change one token of the input, and find the axis along which other outputs change."""
    x = torch.randn(BATCH, QUERY, D_MODEL)
    changed = x.clone()
    changed[0, 0] += 1
    layer = keras.layers.MultiHeadAttention(H, 7)
    theirs, ours = new_torch_and_ours()

    def axes(before: Tensor, after: Tensor) -> str:
        along_second = bool((before[0, 1] != after[0, 1]).any())
        return "(batch, seq, d_model)" if along_second else "(seq, batch, d_model)"

    return Difference(
        "the axes of an input, by default",
        axes(layer(x, x), layer(changed, changed)),
        axes(theirs(x, x, x)[0], theirs(changed, changed, changed)[0]),
        axes(ours(x, x, x), ours(changed, changed, changed)),
        "give nn.MultiheadAttention batch_first=True, or it silently attends across sentences",
    )


def returned() -> Difference:
    """The result of a call without options."""
    layers, (q, k, v) = equal_layers(), inputs()

    def describe(result: Any) -> str:
        if isinstance(result, tuple):
            return f"a pair: {', '.join(map(named, result))}"
        return f"a tensor: {named(result)}"

    return Difference(
        "what a call returns",
        describe(layers.keras(query=q, key=k, value=v)),
        describe(layers.torch(q, k, v)),
        describe(layers.ours(q, k, v)),
        "take [0] of torch's pair; need_weights=False avoids computing unused weights",
    )


def scores() -> Difference:
    """The attention weights, requested in the simplest way."""
    layers, (q, k, v) = equal_layers(), inputs()
    _, in_keras = layers.keras(query=q, key=k, value=v, return_attention_scores=True)
    _, in_torch = layers.torch(q, k, v)
    _, per_head = layers.torch(q, k, v, average_attn_weights=False)
    layers.ours.keep_attention_scores = True
    layers.ours(q, k, v)
    return Difference(
        "attention weights, on request",
        f"return_attention_scores=True: {named(in_keras)}",
        f"the mean over heads, {named(in_torch)}; average_attn_weights=False: {named(per_head)}",
        f"keep_attention_scores = True: {named(layers.ours.attention_scores)}",
        "a plot of torch's default shows the mean of all heads, not a head",
    )


def scores_under_dropout() -> Difference:
    """In training, with half of the weights dropped."""
    layers, (q, k, v) = equal_layers(dropout=0.5), inputs()
    _, in_keras = layers.keras(query=q, key=k, value=v, return_attention_scores=True, training=True)
    _, in_torch = layers.torch.train()(q, k, v, average_attn_weights=False)
    layers.ours.train().keep_attention_scores = True
    layers.ours(q, k, v)

    def sums(weights: Tensor | None) -> str:
        assert weights is not None
        if bool(((weights.sum(-1) - 1).abs() < 1e-5).all()):
            return "before dropout: each row sums to 1"
        return "after dropout: rows do not sum to 1"

    return Difference.of(
        "attention weights in training, dropout 0.5",
        map(sums, (in_keras, in_torch, layers.ours.attention_scores)),
        "inspect torch's weights in eval() only",
    )


def dropout(keras: Any) -> Difference:
    """Whether two calls of a new module differ."""
    layers, (q, k, v) = equal_layers(dropout=0.5), inputs()

    def active(one: Tensor, other: Tensor) -> str:
        return "off until training=True" if torch.equal(one, other) else "on until eval()"

    layer, theirs, ours = layers.keras, layers.torch, layers.ours
    return Difference(
        "dropout by default, and in a new module that is called",
        f"{default(keras.layers.MultiHeadAttention, 'dropout')}, "
        f"{active(layer(query=q, key=k, value=v), layer(query=q, key=k, value=v))}",
        f"{default(nn.MultiheadAttention, 'dropout')}, "
        f"{active(theirs(q, k, v)[0], theirs(q, k, v)[0])}",
        f"{default(MultiHeadAttentionBlock, 'dropout')}, {active(ours(q, k, v), ours(q, k, v))}",
        "before you compare outputs, call eval() on torch's modules and ours",
    )


def float64() -> Difference:
    """The error of a float64 call, measured against the unfused float64 computation."""
    ours = MultiHeadAttentionBlock(D_MODEL, H, 0.0).double()
    layer, theirs = to_keras(ours), to_torch(ours)
    q, k, v = (x.double() for x in inputs())
    expected = ours(q, k, v).detach()

    def precision(output: Tensor) -> str:
        error = float((output.detach() - expected).abs().max())
        return f"{'float64' if error < 1e-10 else 'float32'} inside (off by {error:.0e})"

    unfused, _ = layer(query=q, key=k, value=v, return_attention_scores=True)
    return Difference(
        "a module in float64, scores not requested",
        f"{precision(layer(query=q, key=k, value=v))}; with scores, {precision(unfused)}",
        precision(theirs(q, k, v, need_weights=False)[0]),
        precision(expected),
        "to check formulas in float64 with Keras on torch, request the scores",
    )
