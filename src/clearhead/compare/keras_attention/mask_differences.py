"""Conventions about masks: the meaning of True, accepted shapes, and fully masked queries."""

from collections.abc import Iterator

import torch
from torch import Tensor

from clearhead.blocks import look_ahead_mask
from clearhead.compare.keras_attention.difference import (
    BATCH,
    D_MODEL,
    KEY,
    QUERY,
    REFUSALS,
    Difference,
    H,
    Layers,
    close,
    equal_layers,
    inputs,
    named,
    outcome,
)

# Plausible shapes of a mask, each with its meaning as (batch, h, query, key).
SHAPES = {
    (QUERY, KEY): (1, 1, QUERY, KEY),
    (BATCH, KEY): (BATCH, 1, 1, KEY),
    (BATCH, QUERY, KEY): (BATCH, 1, QUERY, KEY),
    (BATCH * H, QUERY, KEY): (BATCH, H, QUERY, KEY),
    (BATCH, 1, 1, KEY): (BATCH, 1, 1, KEY),
    (BATCH, 1, QUERY, KEY): (BATCH, 1, QUERY, KEY),
    (BATCH, H, QUERY, KEY): (BATCH, H, QUERY, KEY),
}


def rows() -> Iterator[Difference]:
    """All rows, computed now."""
    yield polarity()
    yield shapes()
    yield padding()
    yield causal()
    yield fully_masked()


def polarity() -> Difference:
    """True at the first key only: is that key the visible one, or the hidden one?"""
    layers, (q, k, v) = equal_layers(), inputs()
    mask = torch.zeros(BATCH, QUERY, KEY, dtype=torch.bool)
    mask[..., 0] = True
    layers.ours.keep_attention_scores = True
    layers.ours(q, k, v, mask[:, None])
    _, in_keras = layers.keras(
        query=q, key=k, value=v, attention_mask=mask, return_attention_scores=True
    )
    _, in_torch = layers.torch(q, k, v, attn_mask=mask.repeat_interleave(H, 0))
    assert layers.ours.attention_scores is not None
    cells = [
        "visible" if bool((weights[..., 0] > 0.99).all()) else "hidden"
        for weights in (in_keras, in_torch, layers.ours.attention_scores)
    ]
    return Difference.of(
        "True in a mask", cells,
        "invert the mask, ~mask, for nn.MultiheadAttention "
        "(F.scaled_dot_product_attention has our convention)",
    )  # fmt: skip


def shapes() -> Difference:
    """Accepted, and interpreted as intended."""
    layers, given = equal_layers(), inputs()
    accepted: dict[str, list[str]] = {"keras": [], "torch": [], "ours": []}
    for shape, meaning in SHAPES.items():
        mask = torch.rand(shape) < 0.5
        mask[..., 0] = True
        expected = layers.ours(*given, mask.view(meaning))
        for name in accepted:
            if _interprets(layers, name, given, mask, expected):
                accepted[name].append(named(mask))
    return Difference.of(
        "accepted shapes of a mask",
        [", ".join(names) for names in accepted.values()],
        "with an axis for heads, (batch, 1, query, key), a mask means the same in Keras and here",
    )


def _interprets(
    layers: Layers, name: str, given: list[Tensor], mask: Tensor, expected: Tensor
) -> bool:
    q, k, v = given
    try:
        if name == "keras":
            output = layers.keras(query=q, key=k, value=v, attention_mask=mask)
        elif name == "torch":
            output = layers.torch(q, k, v, attn_mask=~mask, need_weights=False)[0]
        else:
            output = layers.ours(q, k, v, mask)
    except REFUSALS:
        return False
    return close(output, expected)


def padding() -> Difference:
    """A mask of real tokens, (batch, key), as a tokenizer returns it."""
    layers, (q, k, v) = equal_layers(), inputs()
    tokens = torch.arange(KEY) < torch.tensor([KEY, 2, 4])[:, None]
    expected = layers.ours(q, k, v, tokens[:, None, None])
    in_keras = layers.keras(query=q, key=k, value=v, attention_mask=tokens[:, None])
    in_torch, _ = layers.torch(q, k, v, key_padding_mask=~tokens)
    return Difference(
        "a padding mask, (batch, key)",
        f"attention_mask=tokens[:, None]: {_same(in_keras, expected)}",
        f"key_padding_mask=~tokens: {_same(in_torch, expected)}",
        f"tokens[:, None, None]: {_same(expected, expected)}",
        "check the attention_mask of your tokenizer: 1 is a token there",
    )


def causal() -> Difference:
    """A causal mask."""
    layers, (x, _, _) = equal_layers(), inputs()
    mask = look_ahead_mask(QUERY)
    expected = layers.ours(x, x, x, mask)
    in_keras = layers.keras(x, x, use_causal_mask=True)
    in_torch, _ = layers.torch(x, x, x, attn_mask=~mask[0, 0], is_causal=True)
    alone = outcome(lambda: layers.torch(x, x, x, is_causal=True))
    return Difference(
        "a causal mask",
        f"use_causal_mask=True: {_same(in_keras, expected)}",
        f"is_causal=True alone: {alone}; with attn_mask: {_same(in_torch, expected)}",
        f"look_ahead_mask(seq_len): {_same(expected, expected)}",
        "is_causal in nn.MultiheadAttention is a hint about the mask, not a mask",
    )


def _same(output: Tensor, expected: Tensor) -> str:
    return "equal" if close(output, expected) else "another result"


def fully_masked() -> Difference:
    """One query of one sentence has no visible key; there are no biases that hide the effect."""
    layers, (q, k, v) = equal_layers(bias=False), inputs()
    mask = torch.ones(BATCH, QUERY, KEY, dtype=torch.bool)
    mask[1, 2] = False
    mean = layers.ours.w_o(layers.ours.w_v(v).mean(dim=1))[1]

    def describe(output: Tensor) -> str:
        row = output[1, 2].detach()
        kinds = {
            "NaN": bool(row.isnan().any()),
            "0": close(row, torch.zeros(D_MODEL)),
            "the mean of all values": close(row, mean),
        }
        return next((name for name, is_it in kinds.items() if is_it), "another value")

    fused = layers.keras(query=q, key=k, value=v, attention_mask=mask)
    unfused, _ = layers.keras(query=q, key=k, value=v, attention_mask=mask,
                              return_attention_scores=True)  # fmt: skip
    hidden = ~mask.repeat_interleave(H, 0)
    return Difference(
        "the output of a query without any visible key",
        f"{describe(fused)}; if scores are requested, {describe(unfused)}",
        f"{describe(layers.torch(q, k, v, attn_mask=hidden)[0])}; without need_weights, "
        f"{describe(layers.torch(q, k, v, attn_mask=hidden, need_weights=False)[0])}",
        describe(layers.ours(q, k, v, mask[:, None])),
        "one empty sentence in a batch is enough to cause it",
    )
