"""Habits about calls: the order of arguments and axes, dropout, and what comes back."""

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
    inputs,
    named,
    three,
)


def rows(keras: Any) -> Iterator[Difference]:
    """Each computed now."""
    yield order_of_arguments()
    yield order_of_axes(keras)
    yield returned()
    yield scores()
    yield scores_under_dropout()
    yield dropout(keras)
    yield float64()


def order_of_arguments() -> Difference:
    """The first three."""
    found = three()
    calls = (found.keras.call, found.torch.forward, found.ours.forward)
    cells = [", ".join(list(inspect.signature(call).parameters)[:3]) for call in calls]
    return Difference.of(
        "the first three arguments of a call",
        cells,
        "keys and values have one shape, so the wrong order raises nothing: name them",
    )


def order_of_axes(keras: Any) -> Difference:
    """Change one token of the input, and see along which axis the others notice."""
    x = torch.randn(BATCH, QUERY, D_MODEL)
    changed = x.clone()
    changed[0, 0] += 1
    layer = keras.layers.MultiHeadAttention(H, 7)
    theirs, ours = nn.MultiheadAttention(D_MODEL, H), MultiHeadAttentionBlock(D_MODEL, H, 0.0)

    def axes(before: Tensor, after: Tensor) -> str:
        noticed = bool((before[0, 1] != after[0, 1]).any())  # the next along the second axis
        return "(batch, seq, d_model)" if noticed else "(seq, batch, d_model)"

    return Difference(
        "the axes of an input, by default",
        axes(layer(x, x), layer(changed, changed)),
        axes(theirs(x, x, x)[0], theirs(changed, changed, changed)[0]),
        axes(ours(x, x, x), ours(changed, changed, changed)),
        "give nn.MultiheadAttention batch_first=True, or it attends across sentences in silence",
    )


def returned() -> Difference:
    """By a call that asks for nothing."""
    found, (q, k, v) = three(), inputs()

    def describe(answer: Any) -> str:
        if isinstance(answer, tuple):
            return f"a pair: {', '.join(map(named, answer))}"
        return f"a tensor: {named(answer)}"

    return Difference(
        "what a call returns",
        describe(found.keras(query=q, key=k, value=v)),
        describe(found.torch(q, k, v)),
        describe(found.ours(q, k, v)),
        "take [0] of torch's pair; need_weights=False saves making what you throw away",
    )


def scores() -> Difference:
    """The weights, asked for in the plainest way."""
    found, (q, k, v) = three(), inputs()
    _, in_keras = found.keras(query=q, key=k, value=v, return_attention_scores=True)
    _, in_torch = found.torch(q, k, v)
    _, apart = found.torch(q, k, v, average_attn_weights=False)
    found.ours.keep_attention_scores = True
    found.ours(q, k, v)
    return Difference(
        "attention weights, when asked for",
        f"return_attention_scores=True: {named(in_keras)}",
        f"the mean over heads, {named(in_torch)}; average_attn_weights=False: {named(apart)}",
        f"keep_attention_scores = True: {named(found.ours.attention_scores)}",
        "a picture of torch's default shows no head at all, but their mean",
    )


def scores_under_dropout() -> Difference:
    """In training, with half of the weights dropped."""
    found, (q, k, v) = three(dropout=0.5), inputs()
    _, in_keras = found.keras(query=q, key=k, value=v, return_attention_scores=True, training=True)
    _, in_torch = found.torch.train()(q, k, v, average_attn_weights=False)
    found.ours.train().keep_attention_scores = True
    found.ours(q, k, v)

    def sums(weights: Tensor | None) -> str:
        assert weights is not None
        whole = bool(((weights.sum(-1) - 1).abs() < 1e-5).all())
        return (
            "before dropout: each row sums to 1" if whole else "after dropout: rows do not sum to 1"
        )

    return Difference(
        "attention weights in training, dropout 0.5",
        sums(in_keras),
        sums(in_torch),
        sums(found.ours.attention_scores),
        "look at weights of torch in eval() only",
    )


def dropout(keras: Any) -> Difference:
    """Whether a fresh module, called twice, drops."""
    found, (q, k, v) = three(dropout=0.5), inputs()

    def drops(one: Tensor, other: Tensor) -> str:
        return "rests until training=True" if torch.equal(one, other) else "drops until eval()"

    layer, theirs, ours = found.keras, found.torch, found.ours
    return Difference(
        "dropout by default, and in a fresh module that is called",
        f"{default(keras.layers.MultiHeadAttention, 'dropout')}, "
        f"{drops(layer(query=q, key=k, value=v), layer(query=q, key=k, value=v))}",
        f"{default(nn.MultiheadAttention, 'dropout')}, "
        f"{drops(theirs(q, k, v)[0], theirs(q, k, v)[0])}",
        f"{default(MultiHeadAttentionBlock, 'dropout')}, {drops(ours(q, k, v), ours(q, k, v))}",
        "before you compare outputs, put torch's modules and ours to rest with eval()",
    )


def float64() -> Difference:
    """How far a kernel in float64 is from the sums written out in float64."""
    ours = MultiHeadAttentionBlock(D_MODEL, H, 0.0).double()
    layer, theirs = to_keras(ours), to_torch(ours)
    q, k, v = (x.double() for x in inputs())
    expected = ours(q, k, v).detach()

    def precision(output: Tensor) -> str:
        error = float((output.detach() - expected).abs().max())
        return f"{'float64' if error < 1e-10 else 'float32'} inside (off by {error:.0e})"

    slow, _ = layer(query=q, key=k, value=v, return_attention_scores=True)
    return Difference(
        "a module in float64, scores not asked for",
        f"{precision(layer(query=q, key=k, value=v))}; if scores are, {precision(slow)}",
        precision(theirs(q, k, v, need_weights=False)[0]),
        precision(expected),
        "to prove formulas in float64 with Keras on torch, ask for the scores",
    )
