"""torch.nn: attention, norms, feed-forward, layers, stacks and the whole Transformer.

Epsilon is 0 in norms that have it outside the root in ours and inside in torch's.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

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


class Side(NamedTuple):
    """The encoder or the decoder: our classes and torch's, the inputs and the masks of a call."""

    block: Callable[[Residual], nn.Module]
    stack: Callable[..., nn.Module]
    torch_layer: Any
    torch_stack: Any
    inputs: tuple[Callable[[torch.dtype], Tensor], ...]
    masks: tuple[Tensor, ...]
    torch_masks: dict[str, Tensor]


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
        ("EncoderBlock, pre-norm", "nn.TransformerEncoderLayer", partial(layer, ENCODER, pre)),
        ("DecoderBlock, pre-norm", "nn.TransformerDecoderLayer", partial(layer, DECODER, pre)),
        ("EncoderBlock, post-norm", "nn.TransformerEncoderLayer", partial(layer, ENCODER, post)),
        ("DecoderBlock, post-norm", "nn.TransformerDecoderLayer", partial(layer, DECODER, post)),
        ("Encoder", "nn.TransformerEncoder", partial(stack, ENCODER)),
        ("Decoder", "nn.TransformerDecoder", partial(stack, DECODER)),
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


def layer(side: Side, residual: Residual, dtype: torch.dtype) -> proof.Deviation:
    """With this residual connection: pre- or post-norm."""
    ours, theirs = side.block(residual), _torch_layer(side, residual, dtype)
    return _compare(side, ours, theirs, shared.layer_pairs(ours, theirs), dtype)


def stack(side: Side, dtype: torch.dtype) -> proof.Deviation:
    """Two pre-norm layers and the final norm."""
    pre = blocks.ResidualConnection
    ours = side.stack(nn.ModuleList(side.block(pre) for _ in range(LAYERS)), _norm())
    final = nn.LayerNorm(f.D_MODEL, eps=0.0, dtype=dtype)
    theirs = side.torch_stack(_torch_layer(side, pre, dtype), LAYERS, final)
    return _compare(side, ours, theirs, shared.stack_pairs(ours, theirs), dtype)


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


ENCODER = Side(
    _encoder_block, blocks.Encoder, nn.TransformerEncoderLayer,
    partial(nn.TransformerEncoder, enable_nested_tensor=False),
    (f.source,), (f.SOURCE_MASK,), {"src_key_padding_mask": ~f.SOURCE},
)  # fmt: skip
DECODER = Side(
    _decoder_block, blocks.Decoder, nn.TransformerDecoderLayer, nn.TransformerDecoder,
    (f.target, f.source), (f.SOURCE_MASK, f.TARGET_MASK),
    {"tgt_mask": FUTURE, "tgt_key_padding_mask": ~f.TARGET, "memory_key_padding_mask": ~f.SOURCE},
)  # fmt: skip


def _torch_layer(side: Side, residual: Residual, dtype: torch.dtype) -> Any:
    return side.torch_layer(
        f.D_MODEL, f.HEADS, f.D_FF, 0.0,
        layer_norm_eps=0.0, batch_first=True, norm_first=residual is blocks.ResidualConnection,
        dtype=dtype,
    )  # fmt: skip


def _compare(
    side: Side, ours: nn.Module, theirs: nn.Module, pairs: Iterator[shared.WeightPair],
    dtype: torch.dtype,
) -> proof.Deviation:  # fmt: skip
    calls = (lambda *x: ours(*x, *side.masks), lambda *x: theirs(*x, **side.torch_masks))
    inputs = [make(dtype) for make in side.inputs]
    return shared.compare_with_copied_weights(ours, pairs, calls, inputs)
