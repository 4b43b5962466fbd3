"""Habits about masks: what True means, which shapes are taken, and a query without any key."""

from collections.abc import Iterator
from typing import Any

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
    Three,
    answer,
    close,
    inputs,
    named,
    three,
)

# Shapes that somebody might give, each with the axes that make it (batch, h, query, key).
SHAPES = {
    (QUERY, KEY): (1, 1, QUERY, KEY),
    (BATCH, KEY): (BATCH, 1, 1, KEY),
    (BATCH, QUERY, KEY): (BATCH, 1, QUERY, KEY),
    (BATCH * H, QUERY, KEY): (BATCH, H, QUERY, KEY),
    (BATCH, 1, 1, KEY): (BATCH, 1, 1, KEY),
    (BATCH, 1, QUERY, KEY): (BATCH, 1, QUERY, KEY),
    (BATCH, H, QUERY, KEY): (BATCH, H, QUERY, KEY),
}


def rows(keras: Any) -> Iterator[Difference]:
    """Each computed now."""
    yield polarity()
    yield shapes()
    yield padding()
    yield causal()
    yield nothing_to_look_at()


def polarity() -> Difference:
    """True at the first key only: does everybody look there, or everywhere else?"""
    found, (q, k, v) = three(), inputs()
    mask = torch.zeros(BATCH, QUERY, KEY, dtype=torch.bool)
    mask[..., 0] = True
    found.ours.keep_attention_scores = True
    found.ours(q, k, v, mask[:, None])
    _, in_keras = found.keras(
        query=q, key=k, value=v, attention_mask=mask, return_attention_scores=True
    )
    _, in_torch = found.torch(q, k, v, attn_mask=mask.repeat_interleave(H, 0))
    assert found.ours.attention_scores is not None
    cells = [
        "may look" if bool((weights[..., 0] > 0.99).all()) else "is hidden"
        for weights in (in_keras, in_torch, found.ours.attention_scores)
    ]
    return Difference.of(
        "True in a mask", cells,
        "turn the mask over, ~mask, on the way to nn.MultiheadAttention "
        "(F.scaled_dot_product_attention has our sign)",
    )  # fmt: skip


def shapes() -> Difference:
    """Taken, and understood as it was meant."""
    found, given = three(), inputs()
    understood: dict[str, list[str]] = {"keras": [], "torch": [], "ours": []}
    for shape, meant in SHAPES.items():
        mask = torch.rand(shape) < 0.5
        mask[..., 0] = True
        expected = found.ours(*given, mask.view(meant))
        for who in understood:
            if _reads(found, who, given, mask, expected):
                understood[who].append(named(mask))
    return Difference.of(
        "shapes of a mask that are understood",
        [", ".join(names) for names in understood.values()],
        "with an axis for heads, (batch, 1, query, key), a mask means the same in Keras and here",
    )


def _reads(
    found: Three, who: str, given: tuple[Tensor, ...], mask: Tensor, expected: Tensor
) -> bool:
    q, k, v = given
    try:
        if who == "keras":
            output = found.keras(query=q, key=k, value=v, attention_mask=mask)
        elif who == "torch":
            output = found.torch(q, k, v, attn_mask=~mask, need_weights=False)[0]
        else:
            output = found.ours(q, k, v, mask)
    except REFUSALS:
        return False
    return close(output, expected)


def padding() -> Difference:
    """A mask of the words of each sentence, (batch, key), as a tokenizer gives it."""
    found, (q, k, v) = three(), inputs()
    words = torch.arange(KEY) < torch.tensor([KEY, 2, 4])[:, None]
    expected = found.ours(q, k, v, words[:, None, None])
    in_keras = found.keras(query=q, key=k, value=v, attention_mask=words[:, None])
    in_torch, _ = found.torch(q, k, v, key_padding_mask=~words)
    return Difference(
        "which words are padding, (batch, key)",
        f"attention_mask=words[:, None]: {_same(in_keras, expected)}",
        f"key_padding_mask=~words: {_same(in_torch, expected)}",
        f"words[:, None, None]: {_same(expected, expected)}",
        "look at what your tokenizer calls attention_mask: 1 is a word there",
    )


def causal() -> Difference:
    """No looking ahead."""
    found, (x, _, _) = three(), inputs()
    mask = look_ahead_mask(QUERY)
    expected = found.ours(x, x, x, mask)
    in_keras = found.keras(x, x, use_causal_mask=True)
    in_torch, _ = found.torch(x, x, x, attn_mask=~mask[0, 0], is_causal=True)
    alone = answer(lambda: found.torch(x, x, x, is_causal=True))
    return Difference(
        "no looking ahead",
        f"use_causal_mask=True: {_same(in_keras, expected)}",
        f"is_causal=True alone: {alone}; with attn_mask: {_same(in_torch, expected)}",
        f"look_ahead_mask(seq_len): {_same(expected, expected)}",
        "is_causal in nn.MultiheadAttention is a hint about the mask, not a mask",
    )


def _same(output: Tensor, expected: Tensor) -> str:
    return "understood" if close(output, expected) else "another result"


def nothing_to_look_at() -> Difference:
    """One query of one sentence is hidden from every key; without biases its output is pure."""
    found, (q, k, v) = three(bias=False), inputs()
    mask = torch.ones(BATCH, QUERY, KEY, dtype=torch.bool)
    mask[1, 2] = False
    mean = found.ours.w_o(found.ours.w_v(v).mean(dim=1))[1]

    def outcome(output: Tensor) -> str:
        row = output[1, 2].detach()
        kinds = {
            "NaN": bool(row.isnan().any()),
            "0": close(row, torch.zeros(D_MODEL)),
            "the mean of all values": close(row, mean),
        }
        return next((name for name, is_it in kinds.items() if is_it), "another number")

    quick = found.keras(query=q, key=k, value=v, attention_mask=mask)
    slow, _ = found.keras(query=q, key=k, value=v, attention_mask=mask,
                          return_attention_scores=True)  # fmt: skip
    hidden = ~mask.repeat_interleave(H, 0)
    return Difference(
        "the output of a query that may look at nothing",
        f"{outcome(quick)}; if scores are asked for, {outcome(slow)}",
        f"{outcome(found.torch(q, k, v, attn_mask=hidden)[0])}; without need_weights, "
        f"{outcome(found.torch(q, k, v, attn_mask=hidden, need_weights=False)[0])}",
        outcome(found.ours(q, k, v, mask[:, None])),
        "one empty sentence in a batch is enough to meet it",
    )
