"""torch.nn: attention, norms, feed-forward, layers, stacks and the whole Transformer.

Epsilon is 0 in norms that have it outside the root in ours and inside in torch's.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from clearhead import blocks
from clearhead.compare.proofs import fixtures as f
from clearhead.compare.proofs import proof
from clearhead.compare.proofs import shared_weights as shared
from clearhead.compare.training_peers import TorchTransformer

FUTURE = ~blocks.look_ahead_mask(f.QUERY)[0, 0]  # torch's convention: True = hidden
LAYERS = 2
Residual = type[nn.Module]


def proofs() -> Iterator[proof.Proof]:
    """Parts first, then what is composed of them."""
    pre, post = blocks.ResidualConnection, blocks.PostNormResidualConnection
    for ours, theirs, find in (
        ("scaled_dot_product_attention", "F.scaled_dot_product_attention", attention_function),
        ("MultiHeadAttentionBlock", "nn.MultiheadAttention", multi_head_attention),
        ("MultiHeadAttention of chapter 3, its weights too", "nn.MultiheadAttention", chapter_3),
        ("LayerNormalization · sqrt(n / (n - 1))", "nn.LayerNorm", norm),
        ("BiasedLayerNormalization", "nn.LayerNorm", biased_norm),
        ("FeedForwardBlock", "nn.Linear, nn.ReLU, nn.Linear", feed_forward),
        ("EncoderBlock, pre-norm", "nn.TransformerEncoderLayer", partial(encoder_layer, pre)),
        ("DecoderBlock, pre-norm", "nn.TransformerDecoderLayer", partial(decoder_layer, pre)),
        ("EncoderBlock, post-norm", "nn.TransformerEncoderLayer", partial(encoder_layer, post)),
        ("DecoderBlock, post-norm", "nn.TransformerDecoderLayer", partial(decoder_layer, post)),
        ("Encoder", "nn.TransformerEncoder", encoder_stack),
        ("Decoder", "nn.TransformerDecoder", decoder_stack),
        ("Transformer", "nn.Transformer with embeddings and projection", transformer),
    ):
        yield from proof.in_both_precisions(ours, theirs, find)


def attention_function(dtype: torch.dtype) -> proof.Deviation:
    """Every mask; values are wider than keys."""

    def find(mask: Tensor | None) -> proof.Deviation:
        sizes = (f.QUERY, f.D_K), (f.KEY, f.D_K), (f.KEY, f.D_K + 2)
        return proof.compare_functions(
            lambda q, k, v: blocks.scaled_dot_product_attention(q, k, v, mask)[0],
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
            [torch.randn(f.BATCH, f.HEADS, *size, dtype=dtype) for size in sizes],
        )

    return proof.worst(map(find, f.MASKS.values()))


def multi_head_attention(dtype: torch.dtype) -> proof.Deviation:
    """Every mask, with and without bias."""

    def find(mask: Tensor | None, bias: bool) -> proof.Deviation:
        ours = blocks.MultiHeadAttentionBlock(f.D_MODEL, f.HEADS, 0.0, bias=bias)
        theirs = nn.MultiheadAttention(f.D_MODEL, f.HEADS, bias=bias, batch_first=True, dtype=dtype)
        calls = (
            lambda q, k, v: ours(q, k, v, mask),
            lambda q, k, v: theirs(q, k, v, attn_mask=f.torch_mask(mask))[0],
        )
        pairs = shared.attention_pairs(ours, theirs)
        return shared.compare_with_copied_weights(ours, pairs, calls, f.queries_keys_values(dtype))

    return proof.worst(find(*case) for case in product(f.MASKS.values(), (True, False)))


def chapter_3(dtype: torch.dtype) -> proof.Deviation:
    """Output and attention weights of chapter 3's class, and the gradients through both."""
    ours = blocks.MultiHeadAttention(f.D_MODEL, f.HEADS).to(dtype)
    theirs = nn.MultiheadAttention(f.D_MODEL, f.HEADS, batch_first=True, dtype=dtype)
    calls = (
        lambda x: _concatenated(*ours(x)),
        lambda x: _concatenated(*theirs(x, x, x, average_attn_weights=False)),
    )
    return shared.compare_with_copied_weights(
        ours, shared.attention_pairs(ours, theirs), calls, [f.source(dtype)]
    )


def _concatenated(output: Tensor, weights: Tensor) -> Tensor:
    return torch.cat([output.flatten(), weights.flatten()])


def norm(dtype: torch.dtype) -> proof.Deviation:
    """The paper's norm with the unbiased standard deviation, scaled as stated."""
    ours = blocks.LayerNormalization(f.D_MODEL, eps=0.0)
    theirs = nn.LayerNorm(f.D_MODEL, eps=0.0, dtype=dtype)
    pairs = shared.norm_pairs(ours, theirs)
    return shared.compare_with_copied_weights(ours, pairs, (ours, theirs), [f.source(dtype)])


def biased_norm(dtype: torch.dtype) -> proof.Deviation:
    """With a large epsilon, since both have it inside the root."""
    ours = blocks.BiasedLayerNormalization(f.D_MODEL, eps=0.1)
    theirs = nn.LayerNorm(f.D_MODEL, eps=0.1, dtype=dtype)
    pairs = shared.WeightPair(ours.alpha, theirs.weight), shared.WeightPair(ours.bias, theirs.bias)
    return shared.compare_with_copied_weights(ours, pairs, (ours, theirs), [f.source(dtype)])


def feed_forward(dtype: torch.dtype) -> proof.Deviation:
    """Linear, ReLU, linear."""
    ours = blocks.FeedForwardBlock(f.D_MODEL, f.D_FF, 0.0)
    up, down = (
        nn.Linear(*sizes, dtype=dtype) for sizes in ((f.D_MODEL, f.D_FF), (f.D_FF, f.D_MODEL))
    )
    pairs = [*shared.linear_pairs(ours.linear_1, up), *shared.linear_pairs(ours.linear_2, down)]
    theirs = nn.Sequential(up, nn.ReLU(), down)
    return shared.compare_with_copied_weights(ours, pairs, (ours, theirs), [f.source(dtype)])


def encoder_layer(residual: Residual, dtype: torch.dtype) -> proof.Deviation:
    """With this residual connection: pre- or post-norm."""
    ours = _encoder_block(residual)
    theirs = _torch_layer(nn.TransformerEncoderLayer, residual, dtype)
    return _compare_encoders(ours, theirs, shared.layer_pairs(ours, theirs), dtype)


def decoder_layer(residual: Residual, dtype: torch.dtype) -> proof.Deviation:
    """With this residual connection: pre- or post-norm."""
    ours = _decoder_block(residual)
    theirs = _torch_layer(nn.TransformerDecoderLayer, residual, dtype)
    return _compare_decoders(ours, theirs, shared.layer_pairs(ours, theirs), dtype)


def encoder_stack(dtype: torch.dtype) -> proof.Deviation:
    """Two pre-norm layers and the final norm."""
    own = nn.ModuleList(_encoder_block(blocks.ResidualConnection) for _ in range(LAYERS))
    ours = blocks.Encoder(own, _norm())
    layer = _torch_layer(nn.TransformerEncoderLayer, blocks.ResidualConnection, dtype)
    final = nn.LayerNorm(f.D_MODEL, eps=0.0, dtype=dtype)
    theirs = nn.TransformerEncoder(layer, LAYERS, final, enable_nested_tensor=False)
    return _compare_encoders(ours, theirs, shared.stack_pairs(ours, theirs), dtype)


def decoder_stack(dtype: torch.dtype) -> proof.Deviation:
    """Two pre-norm layers and the final norm."""
    own = nn.ModuleList(_decoder_block(blocks.ResidualConnection) for _ in range(LAYERS))
    ours = blocks.Decoder(own, _norm())
    layer = _torch_layer(nn.TransformerDecoderLayer, blocks.ResidualConnection, dtype)
    final = nn.LayerNorm(f.D_MODEL, eps=0.0, dtype=dtype)
    theirs = nn.TransformerDecoder(layer, LAYERS, final)
    return _compare_decoders(ours, theirs, shared.stack_pairs(ours, theirs), dtype)


def transformer(dtype: torch.dtype) -> proof.Deviation:
    """From ids to logits, with padding."""
    ours = f.small_transformer("pre", dtype)
    theirs = f.with_epsilon(TorchTransformer(ours.config).eval().to(dtype))
    pairs = list(shared.transformer_pairs(ours, theirs))
    shared.copy_weights(pairs)
    src, tgt = f.small_batch(ours)
    return proof.compare_functions(
        lambda: f.logits(ours, src, tgt),
        lambda: theirs(src, tgt),
        [],
        lambda: shared.weight_gradients(pairs),
    )


def _norm() -> blocks.LayerNormalization:
    return blocks.LayerNormalization(f.D_MODEL, eps=0.0)


def _attention() -> blocks.MultiHeadAttentionBlock:
    return blocks.MultiHeadAttentionBlock(f.D_MODEL, f.HEADS, 0.0)


def _encoder_block(residual: Residual) -> blocks.EncoderBlock:
    feed_forward = blocks.FeedForwardBlock(f.D_MODEL, f.D_FF, 0.0)
    return blocks.EncoderBlock(_attention(), feed_forward, 0.0, lambda: residual(0.0, _norm()))


def _decoder_block(residual: Residual) -> blocks.DecoderBlock:
    parts = _attention(), _attention(), blocks.FeedForwardBlock(f.D_MODEL, f.D_FF, 0.0)
    return blocks.DecoderBlock(*parts, 0.0, lambda: residual(0.0, _norm()))


def _torch_layer(layer: Any, residual: Residual, dtype: torch.dtype) -> Any:
    return layer(
        f.D_MODEL, f.HEADS, f.D_FF, 0.0,
        layer_norm_eps=0.0, batch_first=True, norm_first=residual is blocks.ResidualConnection,
        dtype=dtype,
    )  # fmt: skip


def _compare_encoders(
    ours: nn.Module, theirs: nn.Module, pairs: Iterator[shared.WeightPair], dtype: torch.dtype
) -> proof.Deviation:
    calls = (
        lambda x: ours(x, f.SOURCE_MASK),
        lambda x: theirs(x, src_key_padding_mask=~f.SOURCE),
    )
    return shared.compare_with_copied_weights(ours, pairs, calls, [f.source(dtype)])


def _compare_decoders(
    ours: nn.Module, theirs: nn.Module, pairs: Iterator[shared.WeightPair], dtype: torch.dtype
) -> proof.Deviation:
    calls = (
        lambda x, memory: ours(x, memory, f.SOURCE_MASK, f.TARGET_MASK),
        lambda x, memory: theirs(
            x, memory, tgt_mask=FUTURE,
            tgt_key_padding_mask=~f.TARGET, memory_key_padding_mask=~f.SOURCE,
        ),
    )  # fmt: skip
    return shared.compare_with_copied_weights(
        ours, pairs, calls, [f.target(dtype), f.source(dtype)]
    )
