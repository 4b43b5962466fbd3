"""Keras: its multi-head attention is ours, is torch's; weights go there and come back.

Asked for its scores, Keras multiplies step by step, in the layer's own precision. Not asked, it
calls torch's kernel, and on this backend carries float64 to float32 before it does: the kernel is
tried in float32 only.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention.conversion import (
    from_keras,
    from_torch,
    gradient_of,
    in_our_names,
    to_keras,
    to_torch,
    torch_gradient_of,
    torch_in_our_names,
)
from clearhead.compare.keras_attention.loading import keras_on
from clearhead.compare.proofs.proof import (
    Finding,
    Proof,
    in_both_precisions,
    largest,
    named_gradients,
    scramble,
    side_by_side,
    worst,
)
from clearhead.compare.proofs.sizes import (
    BATCH,
    D_K,
    D_MODEL,
    HEADS,
    KEY,
    MASKS,
    QUERY,
    queries_keys_values,
)

KERAS, TORCH = "keras.layers.MultiHeadAttention", "nn.MultiheadAttention"
Call = Callable[..., Tensor]


def ways(dtype: torch.dtype) -> Iterator[tuple[Tensor | None, bool]]:
    """Every mask, step by step and, in float32, by torch's kernel."""
    kernels = (False, True) if dtype == torch.float32 else (False,)
    return product(MASKS.values(), kernels)


def called(layer: Any, mask: Tensor | None, kernel: bool) -> Call:
    """A Keras layer in our order of arguments."""
    # Ours broadcasts to (batch, h, query, key), Keras wants (batch, query, key); True = may look.
    theirs = None if mask is None else mask.expand(BATCH, 1, QUERY, KEY)[:, 0]

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        found = layer(
            query=q, key=k, value=v, attention_mask=theirs, return_attention_scores=not kernel
        )
        return found if kernel else found[0]

    return call


def called_in_torch(module: nn.MultiheadAttention, mask: Tensor | None) -> Call:
    """torch's module: True = hide, (batch · h, query, key)."""
    hidden = None if mask is None else ~mask.expand(BATCH, HEADS, QUERY, KEY).flatten(0, 1)
    return lambda q, k, v: module(q, k, v, attn_mask=hidden, need_weights=False)[0]


def random_block(dtype: torch.dtype, bias: bool) -> MultiHeadAttentionBlock:
    """Without dropout."""
    block = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0, bias=bias)
    scramble(block, dtype)
    return block


def random_layer(dtype: torch.dtype) -> Any:
    """A Keras layer as it begins, but for its biases, which begin at 0."""
    with keras_on("cpu") as keras:
        layer = keras.layers.MultiHeadAttention(
            HEADS, D_K, bias_initializer="random_normal", dtype=str(dtype).removeprefix("torch.")
        )
        layer.build((BATCH, QUERY, D_MODEL), (BATCH, KEY, D_MODEL))
    return layer


def ours_becomes_keras(dtype: torch.dtype) -> Finding:
    """Every mask, with bias and without."""

    def find(mask: Tensor | None, kernel: bool, bias: bool) -> Finding:
        block = random_block(dtype, bias)
        layer = to_keras(block)
        return side_by_side(
            lambda q, k, v: block(q, k, v, mask),
            called(layer, mask, kernel),
            queries_keys_values(dtype),
            lambda: named_gradients(block, in_our_names(layer, gradient_of)),
        )

    with keras_on("cpu"):
        return worst(find(*way, bias) for way in ways(dtype) for bias in (True, False))


def keras_becomes_ours(dtype: torch.dtype) -> Finding:
    """A layer that Keras initialised, under every mask."""

    def find(mask: Tensor | None, kernel: bool) -> Finding:
        layer = random_layer(dtype)
        block = from_keras(layer)
        return side_by_side(
            lambda q, k, v: block(q, k, v, mask),
            called(layer, mask, kernel),
            queries_keys_values(dtype),
            lambda: named_gradients(block, in_our_names(layer, gradient_of)),
        )

    with keras_on("cpu"):
        return worst(find(*way) for way in ways(dtype))


def keras_is_torch(dtype: torch.dtype) -> Finding:
    """By way of ours, which then steps aside."""

    def find(mask: Tensor | None, kernel: bool) -> Finding:
        layer = random_layer(dtype)
        module = to_torch(from_keras(layer))

        def gradients() -> Iterator[tuple[Tensor, Tensor]]:
            mine = torch_in_our_names(module, torch_gradient_of)
            theirs = in_our_names(layer, gradient_of)
            yield from ((mine[name], theirs[name]) for name in mine.keys() | theirs.keys())

        return side_by_side(
            called_in_torch(module, mask),
            called(layer, mask, kernel),
            queries_keys_values(dtype),
            gradients,
        )

    with keras_on("cpu"):
        return worst(find(*way) for way in ways(dtype))


def there_and_back(dtype: torch.dtype) -> Finding:
    """Ours to torch, to ours, to Keras, to ours: not a bit may change."""
    block = random_block(dtype, bias=True)
    with keras_on("cpu"):
        again = from_keras(to_keras(from_torch(to_torch(block))))
    held = again.state_dict()
    return Finding(largest((tensor, held[name]) for name, tensor in block.state_dict().items()))


def scores_are_scores(dtype: torch.dtype) -> Finding:
    """The weights that Keras returns, head by head, and those that a watcher sees here."""
    block = random_block(dtype, bias=True)
    block.keep_attention_scores = True
    q, k, v = queries_keys_values(dtype)
    mask = MASKS["both"]
    with keras_on("cpu"):
        layer = to_keras(block)
        block(q, k, v, mask)
        assert mask is not None and block.attention_scores is not None
        _, theirs = layer(
            query=q, key=k, value=v, attention_mask=mask[:, 0], return_attention_scores=True
        )
    return Finding(largest([(block.attention_scores, theirs)]))


def proofs() -> Iterator[Proof]:
    """All of them."""
    ours = "MultiHeadAttentionBlock"
    yield from in_both_precisions(f"{ours}, weights to Keras", KERAS, ours_becomes_keras)
    yield from in_both_precisions(f"{ours}, weights from Keras", KERAS, keras_becomes_ours)
    yield from in_both_precisions(TORCH, KERAS, keras_is_torch)
    yield from in_both_precisions(f"{ours}.attention_scores", f"{KERAS}, scores", scores_are_scores)
    yield Proof("weights there and back", "themselves", "float32", 0.0,
                lambda: there_and_back(torch.float32))  # fmt: skip
