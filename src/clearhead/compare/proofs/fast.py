"""Fast leaf operations, cached decoding and recomputation against the readable formulas."""

import copy
from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.blocks import (
    LayerNormalization,
    MultiHeadAttentionBlock,
    ProjectionLayer,
    decoder_mask,
)
from clearhead.compare.proofs import exports, training
from clearhead.compare.proofs import fixtures as f
from clearhead.compare.proofs.proof import (
    Deviation,
    Proof,
    compare_functions,
    compare_modules,
    in_both_precisions,
    largest_difference,
    randomize,
    worst,
)
from clearhead.decoding.steps import CachedSteps
from clearhead.fast import CheapDropout, accelerate, projected_cross_entropy
from clearhead.fast.accelerate import ON_CPU, ON_GPU
from clearhead.models import Transformer
from clearhead.training.objective import FUSED_LOSSES, READABLE_LOSSES, TokenLosses
from clearhead.training.trainer import checkpoint_layers

EPS = 1e-13  # so small that it does not matter whether it is inside the root
SMOOTHING, CONSISTENCY = 0.1, 3.0
STEPS = 21


def proofs() -> Iterator[Proof]:
    """Leaf operations, whole models, losses, optimizers, decoding, bfloat16."""
    both = in_both_precisions
    yield from both("kernel_attention", "MultiHeadAttentionBlock.attention", attention)
    yield from both("fused_normalize", "LayerNormalization.normalize", norm)
    yield from both("CheapDropout, same draws", "dropout as written", dropout)
    for device, operations in (("CPU", ON_CPU), ("GPU", ON_GPU)):
        for position in f.NORM_POSITIONS:
            ours = f"accelerate(Transformer), {position}-norm, operations of a {device}"
            yield from both(ours, "Transformer", partial(accelerated, operations, position))
    yield from both("projected_cross_entropy", "F.cross_entropy of the projection", loss)
    yield from both("FUSED_LOSSES", "READABLE_LOSSES of ProjectionLayer", token_losses)
    yield Proof("recompute_insides(Transformer)", "Transformer", "float32", 0.0, recomputed)
    yield from training.proofs()
    for position in f.NORM_POSITIONS:
        ours = f"decoding with a key-value cache, {position}-norm, {STEPS} steps"
        theirs = "Transformer.decode, all positions at once"
        yield from both(ours, theirs, partial(cached_decoding, position))
    yield from exports.bfloat16()


def attention(dtype: torch.dtype) -> Deviation:
    """Every mask."""

    def find(mask: Tensor | None) -> Deviation:
        readable = MultiHeadAttentionBlock(f.D_MODEL, f.HEADS, 0.0)
        randomize(readable, dtype)
        fast = accelerate(copy.deepcopy(readable), {"attention"})
        calls = (lambda q, k, v: fast(q, k, v, mask), lambda q, k, v: readable(q, k, v, mask))
        return compare_modules(fast, readable, calls, f.queries_keys_values(dtype))

    return worst(map(find, f.MASKS.values()))


def norm(dtype: torch.dtype) -> Deviation:
    """One α for all features, and one per feature."""

    def find(features: int | None) -> Deviation:
        readable = LayerNormalization(features, EPS)
        randomize(readable, dtype)
        fast = accelerate(copy.deepcopy(readable), {"normalization"})
        return compare_modules(fast, readable, (fast, readable), [f.source(dtype)])

    return worst(map(find, (None, f.D_MODEL)))


def dropout(dtype: torch.dtype) -> Deviation:
    """At a rate of 64/256: an element, and its gradient, is 0 or divided by 1 - p."""
    x, rate = f.source(dtype), 0.25
    kept = torch.empty_like(x)

    def fast(x: Tensor) -> Tensor:
        y = CheapDropout(rate).train()(x)
        kept.copy_(y.detach() != 0)
        return y

    return compare_functions(fast, lambda x: x * kept / (1 - rate), [x])


def accelerated(
    operations: frozenset[str], position: f.NormPosition, dtype: torch.dtype
) -> Deviation:
    """The whole model, from ids to logits, with padding."""
    readable = f.small_transformer(position, dtype, EPS)
    return _compare_models(accelerate(copy.deepcopy(readable), operations), readable)


def _compare_models(ours: Transformer, theirs: Transformer) -> Deviation:
    src, tgt = f.small_batch(theirs)
    calls = (lambda: f.logits(ours, src, tgt), lambda: f.logits(theirs, src, tgt))
    return compare_modules(ours, theirs, calls)


def loss(dtype: torch.dtype) -> Deviation:
    """The mean loss, and the gradients of hidden states, weight and bias."""
    tokens, vocab = 23, 41
    labels = torch.randint(0, vocab, (tokens,))

    def fused(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return projected_cross_entropy(hidden, weight, bias, labels, SMOOTHING)[0] / tokens

    def readable(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.cross_entropy(F.linear(hidden, weight, bias), labels, label_smoothing=SMOOTHING)

    sizes = (tokens, f.D_MODEL), (vocab, f.D_MODEL), (vocab,)
    return compare_functions(fused, readable, [torch.randn(size, dtype=dtype) for size in sizes])


def token_losses(dtype: torch.dtype) -> Deviation:
    """Cross-entropy and the consistency loss, each a mean over tokens."""
    tokens, vocab = 14, 41
    labels = torch.randint(0, vocab, (tokens // 2,)).repeat(2)
    readable = ProjectionLayer(f.D_MODEL, vocab)
    randomize(readable, dtype)
    fast = copy.deepcopy(readable)

    def cross_entropy(losses: TokenLosses, layer: ProjectionLayer, x: Tensor) -> Tensor:
        return losses.cross_entropy(layer, x, labels, SMOOTHING)[0] / tokens

    def agreement(losses: TokenLosses, layer: ProjectionLayer, x: Tensor) -> Tensor:
        return losses.r_drop(layer, x, labels, SMOOTHING, CONSISTENCY)[0] / tokens

    def find(mean: partial[Tensor], other: partial[Tensor]) -> Deviation:
        hidden = torch.randn(tokens, f.D_MODEL, dtype=dtype)
        return compare_modules(fast, readable, (mean, other), [hidden])

    return worst(
        find(partial(mean, FUSED_LOSSES, fast), partial(mean, READABLE_LOSSES, readable))
        for mean in (cross_entropy, agreement)
    )


def recomputed() -> Deviation:
    """Layers that recompute their activations in the backward pass: bit-identical gradients."""
    readable = f.small_transformer("pre", torch.float32)
    recomputing = copy.deepcopy(readable)
    checkpoint_layers(recomputing.encoder, recomputing.decoder)
    return _compare_models(recomputing, readable)


@torch.no_grad()
def cached_decoding(position: f.NormPosition, dtype: torch.dtype) -> Deviation:
    """The decoder's output at every position of four targets."""
    model = f.small_transformer(position, dtype)
    src, tgt = f.small_batch(model, STEPS)
    memory, mask = f.encode(model, src)
    expected = model.decode(memory, mask, tgt, decoder_mask(tgt, model.config.pad_id))
    steps = CachedSteps(model, src)
    found = [steps.hidden(tgt[:, t]) for t in range(STEPS)]
    return Deviation(largest_difference([(torch.cat(found, dim=1), expected)]))
