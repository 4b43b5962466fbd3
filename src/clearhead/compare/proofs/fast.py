"""Fast leaf operations, optimizers, losses and cached decoding against the readable formulas."""

import copy
from collections.abc import Iterator
from functools import partial
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from clearhead import blocks
from clearhead.compare.proofs import exports, proof
from clearhead.compare.proofs import fixtures as f
from clearhead.decoding.steps import CachedSteps
from clearhead.fast import (
    CheapDropout,
    FlatAdam,
    FlatMuon,
    accelerate,
    flat_muon,
    projected_cross_entropy,
)
from clearhead.fast.accelerate import ON_CPU, ON_GPU
from clearhead.models import Transformer
from clearhead.training.objective import TokenLoss, cross_entropy, fused_cross_entropy, r_drop_loss
from clearhead.training.trainer import checkpoint_layers

EPS = 1e-13  # so small that it does not matter whether it is inside the root
SMOOTHING, CONSISTENCY, SEED, STEPS = 0.1, 3.0, 5, 21
BETAS, DECAY, LR, CLIP = (0.9, 0.98), 0.1, 3e-3, 1.0
# Adam divides by √v + ε: a large ε keeps rounding noise in tiny gradients from causing a step.
ADAM_EPS = 1e-5


def proofs() -> Iterator[proof.Proof]:
    """Leaf operations, whole models, losses, optimizers, decoding, bfloat16."""
    both = proof.in_both_precisions
    yield from both("kernel_attention", "MultiHeadAttentionBlock.attention", attention)
    yield from both("fused_normalize", "LayerNormalization.normalize", norm)
    yield from both("CheapDropout, same draws", "dropout as written", dropout)
    for device, operations in (("CPU", ON_CPU), ("GPU", ON_GPU)):
        for position in f.NORM_POSITIONS:
            ours = f"accelerate(Transformer), {position}-norm, operations of a {device}"
            yield from both(ours, "Transformer", partial(accelerated, operations, position))
    yield from both("projected_cross_entropy", "F.cross_entropy of the projection", loss)
    yield from both("fused_cross_entropy", "cross_entropy of ProjectionLayer", token_loss)
    yield proof.Proof("recompute_insides(Transformer)", "Transformer", "float32", 0.0, recomputed)
    yield proof.Proof("FlatAdam, 8 steps", "torch.optim.AdamW", "float32", 1e-5, adam)
    if hasattr(torch.optim, "Muon"):  # since 2.9
        yield proof.Proof("FlatMuon, 4 steps", "torch.optim.Muon and AdamW", "float32", 1e-5, muon)
    yield from both("r_drop_loss", "F.cross_entropy and F.kl_div, as the paper writes it", r_drop)
    for position in f.NORM_POSITIONS:
        ours = f"decoding with a key-value cache, {position}-norm, {STEPS} steps"
        theirs = "Transformer.decode, all positions at once"
        yield from both(ours, theirs, partial(cached_decoding, position))
    yield from exports.bfloat16()


def attention(dtype: torch.dtype) -> proof.Deviation:
    """Every mask."""

    def find(mask: Tensor | None) -> proof.Deviation:
        readable = blocks.MultiHeadAttentionBlock(f.D_MODEL, f.HEADS, 0.0)
        proof.randomize(readable, dtype)
        fast = accelerate(copy.deepcopy(readable), {"attention"})
        calls = (lambda q, k, v: fast(q, k, v, mask), lambda q, k, v: readable(q, k, v, mask))
        return proof.compare_modules(fast, readable, calls, f.queries_keys_values(dtype))

    return proof.worst(map(find, f.MASKS.values()))


def norm(dtype: torch.dtype) -> proof.Deviation:
    """One α for all features, and one per feature."""

    def find(features: int | None) -> proof.Deviation:
        readable = blocks.LayerNormalization(features, EPS)
        proof.randomize(readable, dtype)
        fast = accelerate(copy.deepcopy(readable), {"normalization"})
        return proof.compare_modules(fast, readable, (fast, readable), [f.source(dtype)])

    return proof.worst(map(find, (None, f.D_MODEL)))


def dropout(dtype: torch.dtype) -> proof.Deviation:
    """At a rate of 64/256: an element, and its gradient, is 0 or divided by 1 - p."""
    x, rate = f.source(dtype), 0.25
    kept = torch.empty_like(x)

    def fast(x: Tensor) -> Tensor:
        y = CheapDropout(rate).train()(x)
        kept.copy_(y.detach() != 0)
        return y

    return proof.compare_functions(fast, lambda x: x * kept / (1 - rate), [x])


def accelerated(ops: frozenset[str], norm: f.NormPosition, dtype: torch.dtype) -> proof.Deviation:
    """The whole model, from ids to logits, with padding."""
    readable = f.small_transformer(norm, dtype, EPS)
    return _compare_models(accelerate(copy.deepcopy(readable), ops), readable)


def _compare_models(ours: Transformer, theirs: Transformer) -> proof.Deviation:
    src, tgt = f.small_batch(theirs)
    calls = (lambda: f.logits(ours, src, tgt), lambda: f.logits(theirs, src, tgt))
    return proof.compare_modules(ours, theirs, calls)


def loss(dtype: torch.dtype) -> proof.Deviation:
    """The mean loss, and the gradients of hidden states, weight and bias."""
    tokens, vocab = 23, 41
    labels = torch.randint(0, vocab, (tokens,))

    def fused(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return projected_cross_entropy(hidden, weight, bias, labels, SMOOTHING)[0] / tokens

    def readable(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.cross_entropy(F.linear(hidden, weight, bias), labels, label_smoothing=SMOOTHING)

    sizes = (tokens, f.D_MODEL), (vocab, f.D_MODEL), (vocab,)
    inputs = [torch.randn(size, dtype=dtype) for size in sizes]
    return proof.compare_functions(fused, readable, inputs)


def token_loss(dtype: torch.dtype) -> proof.Deviation:
    """Cross-entropy through the projection, the mean over tokens."""
    tokens, vocab = 14, 41
    labels = torch.randint(0, vocab, (tokens,))
    readable = blocks.ProjectionLayer(f.D_MODEL, vocab)
    proof.randomize(readable, dtype)
    fast = copy.deepcopy(readable)

    def mean(loss: TokenLoss, layer: blocks.ProjectionLayer, x: Tensor) -> Tensor:
        return loss(layer, x, labels, SMOOTHING)[0] / tokens

    calls = partial(mean, fused_cross_entropy, fast), partial(mean, cross_entropy, readable)
    hidden = torch.randn(tokens, f.D_MODEL, dtype=dtype)
    return proof.compare_modules(fast, readable, calls, [hidden])


def recomputed() -> proof.Deviation:
    """Layers that recompute their activations in the backward pass: bit-identical gradients."""
    readable = f.small_transformer("pre", torch.float32)
    recomputing = copy.deepcopy(readable)
    checkpoint_layers(recomputing.encoder, recomputing.decoder)
    return _compare_models(recomputing, readable)


@torch.no_grad()
def cached_decoding(position: f.NormPosition, dtype: torch.dtype) -> proof.Deviation:
    """The decoder's output at every position of four targets."""
    model = f.small_transformer(position, dtype)
    src, tgt = f.small_batch(model, STEPS)
    memory, mask = f.encode(model, src)
    expected = model.decode(memory, mask, tgt, blocks.decoder_mask(tgt, model.config.pad_id))
    steps = CachedSteps(model, src)
    found = [steps.hidden(tgt[:, t]) for t in range(STEPS)]
    return proof.Deviation(proof.largest_difference([(torch.cat(found, dim=1), expected)]))


def adam() -> proof.Deviation:
    """All parameters after eight steps with gradient clipping and weight decay."""
    ours = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    theirs = copy.deepcopy(ours)
    flat = FlatAdam(ours, BETAS, ADAM_EPS, DECAY)
    adamw = torch.optim.AdamW(theirs.parameters(), LR, BETAS, ADAM_EPS, DECAY)
    for _ in range(8):
        x = torch.randn(4, 5)
        for model in (ours, theirs):
            (100 * model(x).square().sum()).backward()
        _step(flat, [adamw], theirs)
    pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
    return proof.Deviation(proof.largest_difference(pairs))


def muon() -> proof.Deviation:
    """All parameters of a Transformer: matrices of its layers by Muon, the others by AdamW.

    Both implementations orthogonalize in bfloat16, whose rounding is decisive in directions with
    almost no gradient. Here both use float64, so that the rest of the step is compared.
    """
    exactly = patch.object(flat_muon, "orthogonalize", orthogonalize_exactly)
    theirs = "torch.optim._muon._zeropower_via_newtonschulz"
    with exactly, patch(theirs, lambda g, *_: orthogonalize_exactly(g[None])[0]):
        return _muon_steps()


def orthogonalize_exactly(stack: Tensor) -> Tensor:
    """Five Newton-Schulz iterations in float64."""
    a, b, c = flat_muon.COEFFICIENTS
    x = stack.double() / torch.linalg.matrix_norm(stack.double(), keepdim=True)
    for _ in range(5):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.to(stack.dtype)


def _muon_steps() -> proof.Deviation:
    ours = f.small_transformer("pre", torch.float32)
    theirs = copy.deepcopy(ours)
    flat = FlatMuon(ours, BETAS, ADAM_EPS, DECAY)
    matrices = {n: p for n, p in theirs.named_parameters() if ".layers." in n and p.ndim == 2}
    others = [p for name, p in theirs.named_parameters() if name not in matrices]
    by_muon = torch.optim.Muon(matrices.values(), LR, DECAY, adjust_lr_fn="match_rms_adamw")
    optimizers = [by_muon, torch.optim.AdamW(others, LR, BETAS, ADAM_EPS, DECAY)]
    for _ in range(4):
        src, tgt = f.small_batch(ours)
        for model in (ours, theirs):
            log_probabilities = model.project(_teacher_forced(model, src, tgt)).flatten(0, 1)
            F.nll_loss(log_probabilities, tgt.flatten()).backward()
        _step(flat, optimizers, theirs)
    pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
    return proof.Deviation(proof.largest_difference(pairs))


def _step(flat: FlatAdam, optimizers: list[Optimizer], theirs: nn.Module) -> None:
    flat.accumulate()
    flat.step(LR, 1.0, CLIP)
    nn.utils.clip_grad_norm_(theirs.parameters(), CLIP)
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()


def _teacher_forced(model: Transformer, src: Tensor, labels: Tensor) -> Tensor:
    """The decoder's output before each label: (batch, tgt_len, d_model)."""
    return f.decode(model, src, blocks.shift_right(labels, model.config.bos_id))


def r_drop(dtype: torch.dtype) -> proof.Deviation:
    """Loss and all gradients, with the same dropout masks on both sides."""
    ours = f.small_transformer("pre", dtype).train()
    for module in ours.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.3
    theirs = copy.deepcopy(ours)
    src, labels = f.small_batch(ours)

    def our_loss() -> Tensor:
        torch.manual_seed(SEED)
        sides = ours, src.numpy(), labels.numpy()
        losses = r_drop_loss(*sides, smoothing=SMOOTHING, weight=CONSISTENCY)
        return losses.smoothed / losses.tokens

    def their_loss() -> Tensor:
        torch.manual_seed(SEED)
        return r_drop_of_the_paper(theirs, src, labels)

    return proof.compare_modules(ours, theirs, (our_loss, their_loss))


def r_drop_of_the_paper(model: Transformer, src: Tensor, labels: Tensor) -> Tensor:
    """(L1 + L2) / 2 + α / 2 · (KL(p1 ‖ p2) + KL(p2 ‖ p1)) / 2, the mean over tokens."""
    hidden = _teacher_forced(model, src.repeat(2, 1), labels.repeat(2, 1))
    real = labels != model.config.pad_id
    proj = model.projection_layer.get_submodule("proj")
    first, second = (proj(half[real]) for half in hidden.chunk(2))
    loss = partial(F.cross_entropy, target=labels[real], label_smoothing=SMOOTHING)
    p, q = first.log_softmax(1), second.log_softmax(1)
    kl = sum(F.kl_div(*two, reduction="batchmean", log_target=True) for two in ((q, p), (p, q)))
    return (loss(first) + loss(second)) / 2 + CONSISTENCY / 4 * kl
