"""Translating fast: caches, fused layers and short cuts find what the readable model finds."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from clearhead.blocks import decoder_mask
from clearhead.compare.proofs.proof import Finding, Proof, in_both_precisions, largest
from clearhead.compare.proofs.tiny import batch, read, tiny
from clearhead.fast.block_topk import best_continuations
from clearhead.fast.fused_decoder import FusedDecoder
from clearhead.fast.fused_encoder import FusedEncoder
from clearhead.fast.incremental import IncrementalDecoder
from clearhead.fast.linear import linear
from clearhead.models import Transformer

STEPS = 21  # more than a cache holds at first
EPS = 1e-13


def proofs() -> Iterator[Proof]:
    """The two caches, the encoder, the vocabulary's product and the choice of the best."""
    for kind in (IncrementalDecoder, FusedDecoder):
        yield from in_both_precisions(
            f"{kind.__name__}, {STEPS} steps",
            "decode, all words at once",
            partial(word_by_word, kind),
        )
    yield from in_both_precisions("FusedEncoder", "encode", fused_encoder)
    yield from in_both_precisions("fast.linear", "F.linear", vocabulary)
    yield Proof("best_continuations", "sorting everything", "float32", 0.0, continuations)


def sentences(model: Transformer) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Memory, its mask, ids of targets, and what the readable decoder makes of them all."""
    src, tgt = batch(model, STEPS)
    memory, mask = read(model, src)
    return (
        memory,
        mask,
        tgt,
        model.decode(memory, mask, tgt, decoder_mask(tgt, model.config.pad_id)),
    )


@torch.no_grad()
def word_by_word(
    kind: type[IncrementalDecoder] | type[FusedDecoder], dtype: torch.dtype
) -> Finding:
    """From kept keys and values; the fused one through layers with their matrices side by side."""
    model = tiny("pre", dtype, EPS)
    memory, mask, tgt, expected = sentences(model)
    decoder = kind(model)
    decoder.start(memory, mask)
    found = [decoder.step(tgt[:, t]).clone() for t in range(STEPS)]
    return Finding(largest([(torch.stack(found, dim=1), expected)]))


@torch.no_grad()
def fused_encoder(dtype: torch.dtype) -> Finding:
    """At the words; what stands at padding is nobody's business."""
    model = tiny("pre", dtype, EPS)
    src, _ = batch(model)
    expected, mask = read(model, src)
    words = mask[:, 0, 0]
    return Finding(largest([(FusedEncoder(model)(src, mask)[words], expected[words])]))


def vocabulary(dtype: torch.dtype) -> Finding:
    """Whichever kernel does the work."""
    x, weight, bias = (torch.randn(size, dtype=dtype) for size in ((5, 12), (23, 12), (23,)))
    return Finding(
        largest([(linear(x, weight, bias), torch.nn.functional.linear(x, weight, bias))])
    )


def continuations() -> Finding:
    """The eight best of 4 beams × 1,000 words, in three sentences."""
    gains, scores = torch.randn(3, 4, 1000), torch.randn(3, 4)
    values, _, _ = best_continuations(gains, scores, 8)
    every = (gains + scores.unsqueeze(2)).flatten(1).sort(dim=1, descending=True).values
    return Finding(largest([(values, every[:, :8])]))
