"""Keras: its multi-head attention, ours and torch's compute the same with converted weights.

If attention scores are requested, Keras computes every step in the layer's own precision.
Otherwise it calls torch's fused kernel, after casting float64 to float32 on this backend: the
kernel is therefore compared in float32 only.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention import conversion
from clearhead.compare.proofs import fixtures as f
from clearhead.compare.proofs import proof
from clearhead.compare.proofs.shared_weights import attention_pairs
from clearhead.compare.timing import keras_on

KERAS, TORCH = "keras.layers.MultiHeadAttention", "nn.MultiheadAttention"
Call = Callable[..., Tensor]


def proofs() -> Iterator[proof.Proof]:
    """Conversions in both directions, attention scores and the round trip of the weights."""
    ours = "MultiHeadAttentionBlock"
    yield from proof.in_both_precisions(f"{ours}, weights to Keras", KERAS, ours_to_keras)
    yield from proof.in_both_precisions(f"{ours}, weights from Keras", KERAS, keras_to_ours)
    yield from proof.in_both_precisions(TORCH, KERAS, keras_to_torch)
    yield from proof.in_both_precisions(f"{ours}.attention_scores", f"{KERAS}, scores", scores)
    yield proof.Proof("weights there and back", "themselves", "float32", 0.0, round_trip)


def cases(dtype: torch.dtype) -> Iterator[tuple[Tensor | None, bool]]:
    """Every mask, step by step and, in float32, with torch's kernel."""
    kernels = (False, True) if dtype == torch.float32 else (False,)
    return product(f.MASKS.values(), kernels)


def keras_call(layer: Any, mask: Tensor | None, kernel: bool) -> Call:
    """A Keras layer with our order of arguments."""
    # (batch, 1, query, key) -> (batch, query, key); True = visible in both.
    own_mask = None if mask is None else mask.expand(f.BATCH, 1, f.QUERY, f.KEY)[:, 0]

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        found = layer(
            query=q, key=k, value=v, attention_mask=own_mask, return_attention_scores=not kernel
        )
        return found if kernel else found[0]

    return call


def torch_call(module: nn.MultiheadAttention, mask: Tensor | None) -> Call:
    """torch's module with our mask."""
    hidden = f.torch_mask(mask)
    return lambda q, k, v: module(q, k, v, attn_mask=hidden, need_weights=False)[0]


def random_block(dtype: torch.dtype, bias: bool) -> MultiHeadAttentionBlock:
    """Our block with random weights, without dropout."""
    block = MultiHeadAttentionBlock(f.D_MODEL, f.HEADS, 0.0, bias=bias)
    proof.randomize(block, dtype)
    return block


def random_layer(dtype: torch.dtype) -> Any:
    """A Keras layer with its own initialization, but random biases instead of zeros."""
    with keras_on("cpu") as keras:
        layer = keras.layers.MultiHeadAttention(
            f.HEADS,
            f.D_K,
            bias_initializer="random_normal",
            dtype=str(dtype).removeprefix("torch."),
        )
        layer.build((f.BATCH, f.QUERY, f.D_MODEL), (f.BATCH, f.KEY, f.D_MODEL))
    return layer


def _compare(
    block: MultiHeadAttentionBlock, layer: Any, mask: Tensor | None, kernel: bool
) -> proof.Deviation:
    return proof.compare_functions(
        lambda q, k, v: block(q, k, v, mask),
        keras_call(layer, mask, kernel),
        f.queries_keys_values(block.w_q.weight.dtype),
        lambda: proof.named_gradients(
            block, conversion.in_our_names(layer, conversion.gradient_of)
        ),
    )


def ours_to_keras(dtype: torch.dtype) -> proof.Deviation:
    """Every mask, with bias and without."""

    def find(mask: Tensor | None, kernel: bool, bias: bool) -> proof.Deviation:
        block = random_block(dtype, bias)
        return _compare(block, conversion.to_keras(block), mask, kernel)

    with keras_on("cpu"):
        return proof.worst(find(*case, bias) for case in cases(dtype) for bias in (True, False))


def keras_to_ours(dtype: torch.dtype) -> proof.Deviation:
    """A layer initialized by Keras, under every mask."""

    def find(mask: Tensor | None, kernel: bool) -> proof.Deviation:
        layer = random_layer(dtype)
        return _compare(conversion.from_keras(layer), layer, mask, kernel)

    with keras_on("cpu"):
        return proof.worst(find(*case) for case in cases(dtype))


def keras_to_torch(dtype: torch.dtype) -> proof.Deviation:
    """Converted by way of our block, which is not part of the comparison."""

    def find(mask: Tensor | None, kernel: bool) -> proof.Deviation:
        layer = random_layer(dtype)
        block = conversion.from_keras(layer)
        module = conversion.to_torch(block)

        def gradients() -> Iterator[tuple[Tensor, Tensor]]:
            theirs = conversion.in_our_names(layer, conversion.gradient_of)
            # Both list weight and bias of w_q, w_k, w_v and w_o.
            for pair, wanted in zip(attention_pairs(block, module), theirs.values(), strict=True):
                yield proof.gradient(pair.theirs)[pair.rows], wanted

        return proof.compare_functions(
            torch_call(module, mask),
            keras_call(layer, mask, kernel),
            f.queries_keys_values(dtype),
            gradients,
        )

    with keras_on("cpu"):
        return proof.worst(find(*case) for case in cases(dtype))


def round_trip() -> proof.Deviation:
    """Ours to torch, to ours, to Keras, to ours: bit-identical."""
    block = random_block(torch.float32, bias=True)
    with keras_on("cpu"):
        in_torch = conversion.to_torch(block)
        in_keras = conversion.to_keras(conversion.from_torch(in_torch))
        again = conversion.from_keras(in_keras).state_dict()
    pairs = ((tensor, again[name]) for name, tensor in block.state_dict().items())
    return proof.Deviation(proof.largest_difference(pairs))


def scores(dtype: torch.dtype) -> proof.Deviation:
    """The attention weights of every head, as Keras returns them and as our block stores them."""
    block = random_block(dtype, bias=True)
    block.keep_attention_scores = True
    q, k, v = f.queries_keys_values(dtype)
    mask = f.MASKS["both"]
    with keras_on("cpu"):
        layer = conversion.to_keras(block)
        block(q, k, v, mask)
        assert mask is not None and block.attention_scores is not None
        _, theirs = layer(
            query=q, key=k, value=v, attention_mask=mask[:, 0], return_attention_scores=True
        )
    return proof.Deviation(proof.largest_difference([(block.attention_scores, theirs)]))
