"""Conventions about calls: masks, the order of arguments and axes, dropout, the returned values."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock, look_ahead_mask
from clearhead.compare.keras_attention import difference as d

# Plausible shapes of a mask, each with its meaning as (batch, h, query, key).
SHAPES = {
    (d.QUERY, d.KEY): (1, 1, d.QUERY, d.KEY),
    (d.BATCH, d.KEY): (d.BATCH, 1, 1, d.KEY),
    (d.BATCH, d.QUERY, d.KEY): (d.BATCH, 1, d.QUERY, d.KEY),
    (d.BATCH * d.H, d.QUERY, d.KEY): (d.BATCH, d.H, d.QUERY, d.KEY),
    (d.BATCH, 1, 1, d.KEY): (d.BATCH, 1, 1, d.KEY),
    (d.BATCH, 1, d.QUERY, d.KEY): (d.BATCH, 1, d.QUERY, d.KEY),
    (d.BATCH, d.H, d.QUERY, d.KEY): (d.BATCH, d.H, d.QUERY, d.KEY),
}


def polarity() -> d.Difference:
    """True at the first key only: is that key the visible one, or the hidden one?"""
    layers, (q, k, v) = d.equal_layers(), d.inputs()
    mask = torch.zeros(d.BATCH, d.QUERY, d.KEY, dtype=torch.bool)
    mask[..., 0] = True
    layers.ours.keep_attention_scores = True
    layers.ours(q, k, v, mask[:, None])
    _, in_keras = layers.keras(
        query=q, key=k, value=v, attention_mask=mask, return_attention_scores=True
    )
    _, in_torch = layers.torch(q, k, v, attn_mask=mask.repeat_interleave(d.H, 0))
    assert layers.ours.attention_scores is not None
    cells = [
        "visible" if bool((weights[..., 0] > 0.99).all()) else "hidden"
        for weights in (in_keras, in_torch, layers.ours.attention_scores)
    ]
    return d.Difference.of(
        "True in a mask", cells,
        "invert the mask, ~mask, for nn.MultiheadAttention "
        "(F.scaled_dot_product_attention has our convention)",
    )  # fmt: skip


def shapes() -> d.Difference:
    """Accepted, and interpreted as intended."""
    layers, (q, k, v) = d.equal_layers(), d.inputs()
    calls: tuple[Callable[[Tensor], Tensor], ...] = (
        lambda mask: layers.keras(query=q, key=k, value=v, attention_mask=mask),
        lambda mask: layers.torch(q, k, v, attn_mask=~mask, need_weights=False)[0],
        lambda mask: layers.ours(q, k, v, mask),
    )
    cases = []
    for shape, meaning in SHAPES.items():
        mask = torch.rand(shape) < 0.5
        mask[..., 0] = True
        cases.append((mask, layers.ours(q, k, v, mask.view(meaning))))

    def accepted(call: Callable[[Tensor], Tensor]) -> Iterator[str]:
        for mask, expected in cases:
            with suppress(*d.REFUSALS):
                if d.close(call(mask), expected):
                    yield d.named(mask)

    return d.Difference.of(
        "accepted shapes of a mask",
        [", ".join(accepted(call)) for call in calls],
        "with an axis for heads, (batch, 1, query, key), a mask means the same in Keras and here",
    )


def padding() -> d.Difference:
    """A mask of real tokens, (batch, key), as a tokenizer returns it."""
    layers, (q, k, v) = d.equal_layers(), d.inputs()
    tokens = torch.arange(d.KEY) < torch.tensor([d.KEY, 2, 4])[:, None]
    expected = layers.ours(q, k, v, tokens[:, None, None])
    in_keras = layers.keras(query=q, key=k, value=v, attention_mask=tokens[:, None])
    in_torch, _ = layers.torch(q, k, v, key_padding_mask=~tokens)
    return d.Difference(
        "a padding mask, (batch, key)",
        f"attention_mask=tokens[:, None]: {_same(in_keras, expected)}",
        f"key_padding_mask=~tokens: {_same(in_torch, expected)}",
        f"tokens[:, None, None]: {_same(expected, expected)}",
        "check the attention_mask of your tokenizer: 1 is a token there",
    )


def causal() -> d.Difference:
    """A causal mask."""
    layers, (x, _, _) = d.equal_layers(), d.inputs()
    mask = look_ahead_mask(d.QUERY)
    expected = layers.ours(x, x, x, mask)
    in_keras = layers.keras(x, x, use_causal_mask=True)
    in_torch, _ = layers.torch(x, x, x, attn_mask=~mask[0, 0], is_causal=True)
    alone = d.outcome(lambda: layers.torch(x, x, x, is_causal=True))
    return d.Difference(
        "a causal mask",
        f"use_causal_mask=True: {_same(in_keras, expected)}",
        f"is_causal=True alone: {alone}; with attn_mask: {_same(in_torch, expected)}",
        f"look_ahead_mask(seq_len): {_same(expected, expected)}",
        "is_causal in nn.MultiheadAttention is a hint about the mask, not a mask",
    )


def _same(output: Tensor, expected: Tensor) -> str:
    return "equal" if d.close(output, expected) else "another result"


def fully_masked() -> d.Difference:
    """One query of one sentence has no visible key; there are no biases that hide the effect."""
    layers, (q, k, v) = d.equal_layers(bias=False), d.inputs()
    mask = torch.ones(d.BATCH, d.QUERY, d.KEY, dtype=torch.bool)
    mask[1, 2] = False
    mean = layers.ours.w_o(layers.ours.w_v(v).mean(dim=1))[1]

    def describe(output: Tensor) -> str:
        row = output[1, 2].detach()
        kinds = {
            "NaN": bool(row.isnan().any()),
            "0": d.close(row, torch.zeros(d.D_MODEL)),
            "the mean of all values": d.close(row, mean),
        }
        return next((name for name, is_it in kinds.items() if is_it), "another value")

    fused = layers.keras(query=q, key=k, value=v, attention_mask=mask)
    unfused, _ = layers.keras(query=q, key=k, value=v, attention_mask=mask,
                              return_attention_scores=True)  # fmt: skip
    hidden = ~mask.repeat_interleave(d.H, 0)
    return d.Difference(
        "the output of a query without any visible key",
        f"{describe(fused)}; if scores are requested, {describe(unfused)}",
        f"{describe(layers.torch(q, k, v, attn_mask=hidden)[0])}; without need_weights, "
        f"{describe(layers.torch(q, k, v, attn_mask=hidden, need_weights=False)[0])}",
        describe(layers.ours(q, k, v, mask[:, None])),
        "one empty sentence in a batch is enough to cause it",
    )


def order_of_arguments() -> d.Difference:
    """The first three parameters."""
    layers = d.equal_layers()
    calls = (layers.keras.call, layers.torch.forward, layers.ours.forward)
    return d.Difference.of(
        "the first three arguments of a call",
        [", ".join(list(inspect.signature(call).parameters)[:3]) for call in calls],
        "keys and values have one shape, so the wrong order raises nothing: name them",
    )


def order_of_axes() -> d.Difference:
    """Change one token of the input, and find the axis along which other outputs change."""
    x = torch.randn(d.BATCH, d.QUERY, d.D_MODEL)
    changed = x.clone()
    changed[0, 0] += 1
    layer = d.keras_layer(d.H, 7)
    theirs, ours = d.new_torch_and_ours()

    def axes(before: Tensor, after: Tensor) -> str:
        along_second = bool((before[0, 1] != after[0, 1]).any())
        return "(batch, seq, d_model)" if along_second else "(seq, batch, d_model)"

    return d.Difference(
        "the axes of an input, by default",
        axes(layer(x, x), layer(changed, changed)),
        axes(theirs(x, x, x)[0], theirs(changed, changed, changed)[0]),
        axes(ours(x, x, x), ours(changed, changed, changed)),
        "give nn.MultiheadAttention batch_first=True, or it silently attends across sentences",
    )


def returned() -> d.Difference:
    """The result of a call without options."""
    layers, (q, k, v) = d.equal_layers(), d.inputs()

    def describe(result: Any) -> str:
        if isinstance(result, tuple):
            return f"a pair: {', '.join(map(d.named, result))}"
        return f"a tensor: {d.named(result)}"

    return d.Difference(
        "what a call returns",
        describe(layers.keras(query=q, key=k, value=v)),
        describe(layers.torch(q, k, v)),
        describe(layers.ours(q, k, v)),
        "take [0] of torch's pair; need_weights=False avoids computing unused weights",
    )


def scores() -> d.Difference:
    """The attention weights, requested in the simplest way."""
    layers, (q, k, v) = d.equal_layers(), d.inputs()
    _, in_keras = layers.keras(query=q, key=k, value=v, return_attention_scores=True)
    _, in_torch = layers.torch(q, k, v)
    _, per_head = layers.torch(q, k, v, average_attn_weights=False)
    layers.ours.keep_attention_scores = True
    layers.ours(q, k, v)
    return d.Difference(
        "attention weights, on request",
        f"return_attention_scores=True: {d.named(in_keras)}",
        f"the mean over heads, {d.named(in_torch)}; "
        f"average_attn_weights=False: {d.named(per_head)}",
        f"keep_attention_scores = True: {d.named(layers.ours.attention_scores)}",
        "a plot of torch's default shows the mean of all heads, not a head",
    )


def scores_under_dropout() -> d.Difference:
    """In training, with half of the weights dropped."""
    layers, (q, k, v) = d.equal_layers(dropout=0.5), d.inputs()
    _, in_keras = layers.keras(query=q, key=k, value=v, return_attention_scores=True, training=True)
    _, in_torch = layers.torch.train()(q, k, v, average_attn_weights=False)
    layers.ours.train().keep_attention_scores = True
    layers.ours(q, k, v)

    def sums(weights: Tensor | None) -> str:
        assert weights is not None
        if bool(((weights.sum(-1) - 1).abs() < 1e-5).all()):
            return "before dropout: each row sums to 1"
        return "after dropout: rows do not sum to 1"

    return d.Difference.of(
        "attention weights in training, dropout 0.5",
        map(sums, (in_keras, in_torch, layers.ours.attention_scores)),
        "inspect torch's weights in eval() only",
    )


def dropout() -> d.Difference:
    """Whether two calls of a new module differ."""
    layers, (q, k, v) = d.equal_layers(dropout=0.5), d.inputs()

    def active(one: Tensor, other: Tensor) -> str:
        return "off until training=True" if torch.equal(one, other) else "on until eval()"

    layer, theirs, ours = layers.keras, layers.torch, layers.ours
    return d.Difference(
        "dropout by default, and in a new module that is called",
        f"{d.default(type(layer), 'dropout')}, "
        f"{active(layer(query=q, key=k, value=v), layer(query=q, key=k, value=v))}",
        f"{d.default(nn.MultiheadAttention, 'dropout')}, "
        f"{active(theirs(q, k, v)[0], theirs(q, k, v)[0])}",
        f"{d.default(MultiHeadAttentionBlock, 'dropout')}, {active(ours(q, k, v), ours(q, k, v))}",
        "before you compare outputs, call eval() on torch's modules and ours",
    )


# In the order of the table.
ROWS = (
    polarity, shapes, padding, causal, fully_masked, order_of_arguments, order_of_axes,
    returned, scores, scores_under_dropout, dropout,
)  # fmt: skip
