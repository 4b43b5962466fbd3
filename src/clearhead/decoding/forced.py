"""The model led along given translations: what it looks at while it would write them."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from clearhead.blocks import MultiHeadAttentionBlock, look_ahead_mask, padding_mask
from clearhead.decoding.batching import batches_by_tokens, padded
from clearhead.decoding.search import in_eval_mode
from clearhead.errors import UserError
from clearhead.models import Transformer


def cross_attention(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    layer: int,
    batch_tokens: int = 8192,
) -> list[Tensor]:
    """How much each target token, when it is predicted, looks at each source token.

    `sources` end with the end sign, `targets` do not; `layer` counts from 0, or
    from the end if negative. The heads of the layer are averaged.

    Shape: -> for every pair (target tokens, source tokens), each row sums to 1.

    Raises:
        UserError: there is no such layer.
    """
    block = _cross_attention_block(model, layer)
    lengths = [max(len(s), len(t)) for s, t in zip(sources, targets, strict=True)]
    found: list[Tensor] = [torch.empty(0)] * len(lengths)
    with in_eval_mode(model), torch.inference_mode():
        for batch in batches_by_tokens(lengths, batch_tokens):
            inputs = [[model.config.bos_id, *targets[i][:-1]] for i in batch]
            weights = _weights(model, block, [sources[i] for i in batch], inputs)
            for i, matrix in zip(batch, weights, strict=True):
                found[i] = matrix[: len(targets[i]), : len(sources[i])].cpu()
    return found


def _weights(
    model: Transformer,
    block: MultiHeadAttentionBlock,
    sources: Sequence[Sequence[int]],
    inputs: Sequence[Sequence[int]],
) -> Tensor:
    """(batch, tgt_len, src_len), averaged over heads."""
    pad_id = model.config.pad_id
    device = next(model.parameters()).device
    src, tgt = padded(sources, pad_id, device), padded(inputs, pad_id, device)
    # Filling stands behind a target, where no token of it looks; nothing more need be hidden,
    # and must not be: Marian's begin sign is the sign of filling.
    src_mask, tgt_mask = padding_mask(src, pad_id), look_ahead_mask(tgt.shape[1], device)
    before, block.keep_attention_scores = block.keep_attention_scores, True
    try:
        model.decode(model.encode(src, src_mask), src_mask, tgt, tgt_mask)
        return cast(Tensor, block.attention_scores).float().mean(dim=1)
    finally:
        block.keep_attention_scores, block.attention_scores = before, None


def _cross_attention_block(model: Transformer, layer: int) -> MultiHeadAttentionBlock:
    layers = cast(list[torch.nn.Module], model.decoder.layers)
    if not -len(layers) <= layer < len(layers):
        raise UserError(
            f"there is no decoder layer {layer}; this model has {len(layers)}, counted from 0"
        )
    return cast(MultiHeadAttentionBlock, layers[layer].cross_attention_block)
