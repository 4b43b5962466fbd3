"""Fast beside readable: each twin computes what the part computes that it stands for."""

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.blocks import LayerNormalization, MultiHeadAttentionBlock
from clearhead.compare.proofs import fast_decoding, learning, precisions
from clearhead.compare.proofs.proof import (
    Finding,
    Proof,
    gradient_pairs,
    in_both_precisions,
    scramble,
    side_by_side,
    worst,
)
from clearhead.compare.proofs.sizes import D_MODEL, HEADS, MASKS, queries_keys_values, source
from clearhead.compare.proofs.tiny import batch, logits, tiny
from clearhead.fast import (
    FastMultiHeadAttentionBlock,
    FusedLayerNormalization,
    SdpaMultiHeadAttentionBlock,
    accelerate,
    projected_cross_entropy,
)
from clearhead.fast.accelerate import ON_CPU, ON_GPU
from clearhead.fast.recompute import recompute_insides

Order = Literal["pre", "post"]
# Norms with so small an epsilon do not notice whether it stands inside the root.
EPS = 1e-13
SMOOTHING = 0.1


def proofs() -> Iterator[Proof]:
    """Parts, whole models, training; what translates, and what fewer bits lose."""
    block = "MultiHeadAttentionBlock"
    for kind in (FastMultiHeadAttentionBlock, SdpaMultiHeadAttentionBlock):
        yield from in_both_precisions(kind.__name__, block, partial(attention, kind))
    yield from in_both_precisions("FusedLayerNormalization", "LayerNormalization", norm)
    orders: tuple[Order, ...] = ("pre", "post")
    for name, twins in (("CPU", ON_CPU), ("GPU", ON_GPU)):
        for order in orders:
            yield from in_both_precisions(
                f"accelerate(Transformer), {order}-norm, twins of a {name}",
                "Transformer",
                partial(accelerated, twins, order),
            )
    yield from in_both_precisions(
        "projected_cross_entropy", "F.cross_entropy of the projection", loss
    )
    yield Proof("recompute_insides(Transformer)", "Transformer", "float32", 0.0, recomputed)
    yield from learning.proofs()
    yield from fast_decoding.proofs()
    yield from precisions.proofs()


def attention(kind: Any, dtype: torch.dtype) -> Finding:
    """Every mask."""

    def find(mask: Tensor | None) -> Finding:
        readable = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)
        scramble(readable, dtype)
        twin = kind.twin(copy.deepcopy(readable))
        return side_by_side(
            lambda q, k, v: twin(q, k, v, mask),
            lambda q, k, v: readable(q, k, v, mask),
            queries_keys_values(dtype),
            lambda: gradient_pairs(twin, readable),
        )

    return worst(map(find, MASKS.values()))


def norm(dtype: torch.dtype) -> Finding:
    """One scalar for all features, and one for each."""

    def find(features: int | None) -> Finding:
        readable = LayerNormalization(features, EPS)
        scramble(readable, dtype)
        twin = FusedLayerNormalization.twin(copy.deepcopy(readable))
        return side_by_side(twin, readable, [source(dtype)], lambda: gradient_pairs(twin, readable))

    return worst(map(find, (None, D_MODEL)))


def accelerated(twins: frozenset[str], order: Order, dtype: torch.dtype) -> Finding:
    """The whole model, from ids to logits, padded sentences in the batch."""
    readable = tiny(order, dtype, EPS)
    fast = accelerate(copy.deepcopy(readable), twins)
    src, tgt = batch(readable)
    return side_by_side(
        lambda: logits(fast, src, tgt),
        lambda: logits(readable, src, tgt),
        [],
        lambda: gradient_pairs(fast, readable),
    )


def loss(dtype: torch.dtype) -> Finding:
    """Value and gradients of hidden states, weight and bias; a mean, as training has it."""
    tokens, vocab = 23, 41
    labels = torch.randint(0, vocab, (tokens,))

    def fused(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return projected_cross_entropy(hidden, weight, bias, labels, SMOOTHING)[0] / tokens

    def readable(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.cross_entropy(F.linear(hidden, weight, bias), labels, label_smoothing=SMOOTHING)

    sizes = (tokens, D_MODEL), (vocab, D_MODEL), (vocab,)
    inputs = [torch.randn(size, dtype=dtype) for size in sizes]
    return side_by_side(fused, readable, inputs, list)


def recomputed() -> Finding:
    """Gradients to the bit, from layers that forget their insides and compute them again."""
    readable = tiny("pre", torch.float32)
    forgetting = copy.deepcopy(readable)
    recompute_insides(forgetting.encoder, forgetting.decoder)
    src, tgt = batch(readable)
    return side_by_side(
        lambda: logits(forgetting, src, tgt),
        lambda: logits(readable, src, tgt),
        [],
        lambda: gradient_pairs(forgetting, readable),
    )
