"""Cross-attention weights of given translations, by teacher forcing."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor

from clearhead.blocks import MultiHeadAttentionBlock, look_ahead_mask, padding_mask
from clearhead.decoding.engine import check_layer
from clearhead.decoding.readable import batches_by_tokens, in_eval_mode, padded
from clearhead.errors import UserError
from clearhead.models import Transformer

# The weights lie in the blocks of the model, which several threads may share.
_one_at_a_time = threading.Lock()


def cross_attention(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    layer: int,
) -> list[Tensor]:
    """The attention of each target token, when it is predicted, to each source token.

    `sources` end with the EOS token, `targets` do not; `layer` counts from 0, or from the end if
    negative. The heads of the layer are averaged.

    Shape: -> for each pair (target tokens, source tokens); each row sums to 1.

    Raises:
        UserError: there is no such layer, or it has another attention block.
    """
    found: list[Tensor] = [torch.empty(0)] * len(sources)
    inputs = [target[:-1] for target in targets]  # no token is predicted after the last
    for i, weights in cross_attention_heads(model, sources, inputs, layer=layer):
        found[i] = weights[0].mean(dim=0)[: len(targets[i])]
    return found


def cross_attention_heads(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    batch_tokens: int = 8192,
    layer: int | None = None,
) -> Iterator[tuple[int, Tensor]]:
    """Yield the number of each pair and the weights of all layers and heads, in any order.

    `sources` end with the EOS token; `targets` have no special tokens. The decoder reads the BOS
    token and then the whole target, so row t has token t - 1 of the target as its input and
    predicts token t. `layer`, if given, is the only one.

    Shape: weights (layers, h, target tokens + 1, source tokens); each row sums to 1.

    Raises:
        UserError: there is no such layer, or it has another attention block.
    """
    blocks = _cross_attention_blocks(model, layer)
    config, device = model.config, next(model.parameters()).device
    lengths = [max(len(s), len(t) + 1) for s, t in zip(sources, targets, strict=True)]
    for batch in batches_by_tokens(lengths, batch_tokens):
        with in_eval_mode(model), torch.inference_mode():
            src = padded([sources[i] for i in batch], config.pad_id, device)
            tgt = padded([[config.bos_id, *targets[i]] for i in batch], config.pad_id, device)
            src_mask = padding_mask(src, config.pad_id)
            # No padding mask: the look-ahead mask hides padding, a mask would hide Marian's BOS.
            tgt_mask = look_ahead_mask(tgt.shape[1], device)
            memory = model.encode(src, src_mask)
            with _one_at_a_time, recording_attention(blocks):
                model.decode(memory, src_mask, tgt, tgt_mask)
                weights = torch.stack([cast(Tensor, block.attention_scores) for block in blocks], 1)
        for i, matrix in zip(batch, weights.float().cpu(), strict=True):
            yield i, matrix[:, :, : len(targets[i]) + 1, : len(sources[i])]


@contextmanager
def recording_attention(blocks: Sequence[MultiHeadAttentionBlock]) -> Iterator[None]:
    """Within, these blocks keep their attention weights; afterwards those that did before."""
    before = [block.keep_attention_scores for block in blocks]
    for block in blocks:
        block.keep_attention_scores = True
    try:
        yield
    finally:
        for block, kept in zip(blocks, before, strict=True):
            block.keep_attention_scores = kept
            block.attention_scores = block.attention_scores if kept else None


def _cross_attention_blocks(model: Transformer, layer: int | None) -> list[MultiHeadAttentionBlock]:
    layers = cast(Iterable[torch.nn.Module], model.decoder.layers)
    blocks = [layer.cross_attention_block for layer in layers]
    if layer is not None:
        check_layer(layer, len(blocks))
        blocks = [blocks[layer]]
    for block in blocks:
        if not isinstance(block, MultiHeadAttentionBlock):
            kind = type(block).__name__
            raise UserError(f"{kind} keeps no attention weights; give a MultiHeadAttentionBlock")
    return cast(list[MultiHeadAttentionBlock], blocks)
