"""torch.nn, layer by layer and whole: pre- and post-norm, alone, in stacks, as a Transformer.

Epsilon is 0 on both sides of a norm: inside the root or outside it, it can only be nothing.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import nn

from clearhead.blocks import (
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    FeedForwardBlock,
    LayerNormalization,
    MultiHeadAttentionBlock,
    PostNormResidualConnection,
    ResidualConnection,
    look_ahead_mask,
)
from clearhead.compare.proofs.proof import Finding, Proof, in_both_precisions, side_by_side
from clearhead.compare.proofs.same_weights import (
    Same,
    copy_weights,
    gradients,
    held,
    same_layer,
    same_stack,
    same_transformer,
)
from clearhead.compare.proofs.sizes import (
    D_FF,
    D_MODEL,
    HEADS,
    QUERY,
    SOURCE,
    SOURCE_MASK,
    TARGET,
    TARGET_MASK,
    source,
    target,
)
from clearhead.compare.proofs.tiny import batch, logits, tiny, without_epsilon
from clearhead.compare.torch_nn import TorchTransformer

FUTURE = ~look_ahead_mask(QUERY)[0, 0]  # torch's sign: True = hide
LAYERS = 2
Kind = type[nn.Module]


def proofs() -> Iterator[Proof]:
    """From the layer to the whole machine."""
    for order, kind in (("pre", ResidualConnection), ("post", PostNormResidualConnection)):
        yield from in_both_precisions(
            f"EncoderBlock, {order}-norm",
            "nn.TransformerEncoderLayer",
            partial(encoder_layer, kind),
        )
        yield from in_both_precisions(
            f"DecoderBlock, {order}-norm",
            "nn.TransformerDecoderLayer",
            partial(decoder_layer, kind),
        )
    yield from in_both_precisions("Encoder", "nn.TransformerEncoder", encoder_stack)
    yield from in_both_precisions("Decoder", "nn.TransformerDecoder", decoder_stack)
    yield from in_both_precisions(
        "Transformer", "nn.Transformer with embeddings and projection", transformer
    )


def encoder_layer(kind: Kind, dtype: torch.dtype) -> Finding:
    """`kind` of residual connection: pre- or post-norm."""
    ours, theirs = encoder_block(kind), torchs(nn.TransformerEncoderLayer, kind, dtype)
    return reading(ours, theirs, list(same_layer(ours, theirs)), dtype)


def decoder_layer(kind: Kind, dtype: torch.dtype) -> Finding:
    """`kind` of residual connection: pre- or post-norm."""
    ours, theirs = decoder_block(kind), torchs(nn.TransformerDecoderLayer, kind, dtype)
    return writing(ours, theirs, list(same_layer(ours, theirs)), dtype)


def encoder_stack(dtype: torch.dtype) -> Finding:
    """Two layers and the norm at the end."""
    blocks = nn.ModuleList(encoder_block(ResidualConnection) for _ in range(LAYERS))
    ours = Encoder(blocks, exact_norm())
    theirs = nn.TransformerEncoder(
        torchs(nn.TransformerEncoderLayer, ResidualConnection, dtype),
        LAYERS,
        nn.LayerNorm(D_MODEL, eps=0.0, dtype=dtype),
        enable_nested_tensor=False,
    )
    return reading(ours, theirs, list(same_stack(ours, theirs)), dtype)


def decoder_stack(dtype: torch.dtype) -> Finding:
    """Two layers and the norm at the end."""
    blocks = nn.ModuleList(decoder_block(ResidualConnection) for _ in range(LAYERS))
    ours = Decoder(blocks, exact_norm())
    theirs = nn.TransformerDecoder(
        torchs(nn.TransformerDecoderLayer, ResidualConnection, dtype),
        LAYERS,
        nn.LayerNorm(D_MODEL, eps=0.0, dtype=dtype),
    )
    return writing(ours, theirs, list(same_stack(ours, theirs)), dtype)


def transformer(dtype: torch.dtype) -> Finding:
    """From ids to logits, padded sentences in the batch."""
    ours = tiny("pre", dtype)
    theirs = without_epsilon(TorchTransformer(ours.config).eval().to(dtype))
    same = list(same_transformer(ours, theirs))
    copy_weights(same)
    src, tgt = batch(ours)
    return side_by_side(
        lambda: logits(ours, src, tgt), lambda: theirs(src, tgt), [], lambda: gradients(same)
    )


def exact_norm() -> LayerNormalization:
    """Without epsilon."""
    return LayerNormalization(D_MODEL, eps=0.0)


def attention() -> MultiHeadAttentionBlock:
    """Of our sizes."""
    return MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)


def encoder_block(kind: Kind) -> EncoderBlock:
    """`kind` of residual: pre- or post-norm."""
    parts = attention(), FeedForwardBlock(D_MODEL, D_FF, 0.0)
    return EncoderBlock(*parts, 0.0, lambda: kind(0.0, exact_norm()))


def decoder_block(kind: Kind) -> DecoderBlock:
    """`kind` of residual: pre- or post-norm."""
    parts = attention(), attention(), FeedForwardBlock(D_MODEL, D_FF, 0.0)
    return DecoderBlock(*parts, 0.0, lambda: kind(0.0, exact_norm()))


def torchs(layer: Any, kind: Kind, dtype: torch.dtype) -> Any:
    """`nn.TransformerEncoderLayer` or its like of our sizes."""
    return layer(
        D_MODEL, HEADS, D_FF, 0.0,
        layer_norm_eps=0.0, batch_first=True, norm_first=kind is ResidualConnection, dtype=dtype,
    )  # fmt: skip


def reading(ours: nn.Module, theirs: nn.Module, same: list[Same], dtype: torch.dtype) -> Finding:
    """Encoders of either make, on padded sentences."""
    calls = (
        lambda x: ours(x, SOURCE_MASK),
        lambda x: theirs(x, src_key_padding_mask=~SOURCE),
    )
    return held(ours, same, calls, [source(dtype)])


def writing(ours: nn.Module, theirs: nn.Module, same: list[Same], dtype: torch.dtype) -> Finding:
    """Decoders of either make, on padded sentences and without looking ahead."""
    calls = (
        lambda x, memory: ours(x, memory, SOURCE_MASK, TARGET_MASK),
        lambda x, memory: theirs(
            x, memory, tgt_mask=FUTURE,
            tgt_key_padding_mask=~TARGET, memory_key_padding_mask=~SOURCE,
        ),
    )  # fmt: skip
    return held(ours, same, calls, [target(dtype), source(dtype)])
