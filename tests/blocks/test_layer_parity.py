"""Our encoder and decoder are torch's, alone and in stacks, through the stated norm relation.

Epsilon is 0 on both sides: inside the root or outside it, it can only be nothing.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import (
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    LayerNormalization,
    PostNormResidualConnection,
    ResidualConnection,
    look_ahead_mask,
)
from clearhead.compare.proofs.proof import randomize
from clearhead.compare.proofs.shared_weights import copy_weights, layer_pairs, norm_pairs
from tests.blocks.twins import (
    BATCH,
    D_FF,
    D_MODEL,
    HEADS,
    KEY,
    QUERY,
    assert_same_everywhere,
    attention,
    both_precisions,
    feed_forward,
    padded_keys,
    random,
    twice,
)

LAYERS = 2
SRC = padded_keys((6, 2, 4), KEY)  # True where a word stands
TGT = padded_keys((5, 3, 1), QUERY)
SRC_MASK = SRC[:, None, None, :]
TGT_MASK = TGT[:, None, None, :] & look_ahead_mask(QUERY)
FUTURE = ~look_ahead_mask(QUERY)[0, 0]  # torch's sign: True = hide

both_orders = pytest.mark.parametrize("pre_norm", [True, False], ids=["pre-norm", "post-norm"])


def exact_norm() -> LayerNormalization:
    return LayerNormalization(D_MODEL, eps=0.0)


def residuals(pre_norm: bool) -> Callable[[], nn.Module]:
    kind = ResidualConnection if pre_norm else PostNormResidualConnection
    return lambda: kind(0.0, exact_norm())


def encoder_block(pre_norm: bool = True) -> EncoderBlock:
    return EncoderBlock(attention(), feed_forward(), 0.0, residuals(pre_norm))


def decoder_block(pre_norm: bool = True) -> DecoderBlock:
    return DecoderBlock(attention(), attention(), feed_forward(), 0.0, residuals(pre_norm))


def encoder_layer(dtype: torch.dtype, pre_norm: bool = True) -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(
        D_MODEL, HEADS, D_FF, 0.0,
        layer_norm_eps=0.0, batch_first=True, norm_first=pre_norm, dtype=dtype,
    )  # fmt: skip


def decoder_layer(dtype: torch.dtype, pre_norm: bool = True) -> nn.TransformerDecoderLayer:
    return nn.TransformerDecoderLayer(
        D_MODEL, HEADS, D_FF, 0.0,
        layer_norm_eps=0.0, batch_first=True, norm_first=pre_norm, dtype=dtype,
    )  # fmt: skip


def source(dtype: torch.dtype) -> Tensor:
    return random(BATCH, KEY, D_MODEL, dtype=dtype)


def target(dtype: torch.dtype) -> Tensor:
    return random(BATCH, QUERY, D_MODEL, dtype=dtype)


@both_precisions
@both_orders
def test_encoder_block_is_torchs_layer(pre_norm: bool, dtype: torch.dtype) -> None:
    ours, theirs = encoder_block(pre_norm), encoder_layer(dtype, pre_norm)
    randomize(ours, dtype)
    same = list(layer_pairs(ours, theirs))
    copy_weights(same)
    (x,), (y,) = inputs = twice(source(dtype))
    outputs = ours(x, SRC_MASK), theirs(y, src_key_padding_mask=~SRC)
    assert_same_everywhere(outputs, inputs, same)


@both_precisions
@both_orders
def test_decoder_block_is_torchs_layer(pre_norm: bool, dtype: torch.dtype) -> None:
    ours, theirs = decoder_block(pre_norm), decoder_layer(dtype, pre_norm)
    randomize(ours, dtype)
    same = list(layer_pairs(ours, theirs))
    copy_weights(same)
    (x, memory), (y, their_memory) = inputs = twice(target(dtype), source(dtype))
    outputs = (
        ours(x, memory, SRC_MASK, TGT_MASK),
        theirs(
            y, their_memory, tgt_mask=FUTURE,
            tgt_key_padding_mask=~TGT, memory_key_padding_mask=~SRC,
        ),
    )  # fmt: skip
    assert_same_everywhere(outputs, inputs, same)


@both_precisions
def test_encoder_is_torchs_stack(dtype: torch.dtype) -> None:
    ours = Encoder(nn.ModuleList(encoder_block() for _ in range(LAYERS)), exact_norm())
    norm = nn.LayerNorm(D_MODEL, eps=0.0, dtype=dtype)
    theirs = nn.TransformerEncoder(encoder_layer(dtype), LAYERS, norm, enable_nested_tensor=False)
    randomize(ours, dtype)
    same = [s for pair in zip(ours.layers, theirs.layers, strict=True) for s in layer_pairs(*pair)]
    same += norm_pairs(ours.norm, theirs.norm)
    copy_weights(same)
    (x,), (y,) = inputs = twice(source(dtype))
    outputs = ours(x, SRC_MASK), theirs(y, src_key_padding_mask=~SRC)
    assert_same_everywhere(outputs, inputs, same)


@both_precisions
def test_decoder_is_torchs_stack(dtype: torch.dtype) -> None:
    ours = Decoder(nn.ModuleList(decoder_block() for _ in range(LAYERS)), exact_norm())
    norm = nn.LayerNorm(D_MODEL, eps=0.0, dtype=dtype)
    theirs = nn.TransformerDecoder(decoder_layer(dtype), LAYERS, norm)
    randomize(ours, dtype)
    same = [s for pair in zip(ours.layers, theirs.layers, strict=True) for s in layer_pairs(*pair)]
    same += norm_pairs(ours.norm, theirs.norm)
    copy_weights(same)
    (x, memory), (y, their_memory) = inputs = twice(target(dtype), source(dtype))
    outputs = (
        ours(x, memory, SRC_MASK, TGT_MASK),
        theirs(
            y, their_memory, tgt_mask=FUTURE,
            tgt_key_padding_mask=~TGT, memory_key_padding_mask=~SRC,
        ),
    )  # fmt: skip
    assert_same_everywhere(outputs, inputs, same)
