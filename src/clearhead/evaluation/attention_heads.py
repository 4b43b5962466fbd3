"""What every cross-attention head looks at while the model is led along given translations."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor

from clearhead.blocks import MultiHeadAttentionBlock, decoder_mask, padding_mask
from clearhead.decoding.batching import batches_by_tokens, padded
from clearhead.decoding.search import in_eval_mode
from clearhead.models import Transformer


def cross_attention_heads(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    batch_tokens: int = 8192,
) -> Iterator[tuple[int, Tensor]]:
    """Yield the number of each pair and its weights, batch by batch, in no particular order.

    `sources` end with the end sign; `targets` have neither sign. The decoder reads
    the begin sign and then the whole target, so that row t has token t - 1 of the
    target as its input and token t as what it should say next.

    Shape: weights (layers, h, target tokens + 1, source tokens), each row sums to 1.
    """
    config, device = model.config, next(model.parameters()).device
    lengths = [max(len(s), len(t) + 1) for s, t in zip(sources, targets, strict=True)]
    with in_eval_mode(model), torch.inference_mode(), _recording(model) as blocks:
        for batch in batches_by_tokens(lengths, batch_tokens):
            inputs = [[config.bos_id, *targets[i]] for i in batch]
            src = padded([sources[i] for i in batch], config.pad_id, device)
            tgt = padded(inputs, config.pad_id, device)
            src_mask, tgt_mask = padding_mask(src, config.pad_id), decoder_mask(tgt, config.pad_id)
            model.decode(model.encode(src, src_mask), src_mask, tgt, tgt_mask)
            weights = torch.stack([cast(Tensor, block.attention_scores) for block in blocks], 1)
            for i, matrix in zip(batch, weights.float().cpu(), strict=True):
                yield i, matrix[:, :, : len(targets[i]) + 1, : len(sources[i])]


@contextmanager
def _recording(model: Transformer) -> Iterator[list[MultiHeadAttentionBlock]]:
    """The cross-attention blocks, layer by layer, keeping their weights for a while."""
    layers = cast(list[torch.nn.Module], model.decoder.layers)
    blocks = [cast(MultiHeadAttentionBlock, layer.cross_attention_block) for layer in layers]
    before = [block.keep_attention_scores for block in blocks]
    for block in blocks:
        block.keep_attention_scores = True
    try:
        yield blocks
    finally:
        for block, kept in zip(blocks, before, strict=True):
            block.keep_attention_scores, block.attention_scores = kept, None
