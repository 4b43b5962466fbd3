"""`Transformer.encode` with few, large operations: one product for queries, keys and values."""

from typing import cast

import torch
from torch import Tensor, nn

from clearhead.blocks import (
    Encoder,
    EncoderBlock,
    InputEmbeddings,
    MultiHeadAttentionBlock,
    PositionalEncoding,
)
from clearhead.fast.fused_parts import around, feed_forward, norm, norms, softmax
from clearhead.fast.packed_linear import Pack, float32, side_by_side


class FusedEncoder:
    """Called as `Transformer.encode` is; `pack` chooses how the products are computed.

    For models of which `fused_parts.is_standard` holds; without dropout.
    """

    def __init__(self, model: nn.Module, pack: Pack = float32) -> None:
        self.embed = cast(InputEmbeddings, model.src_embed)
        self.positions = cast(PositionalEncoding, model.src_pos).pe
        encoder, d_model = cast(Encoder, model.encoder), self.embed.d_model
        blocks = [cast(EncoderBlock, block) for block in encoder.layers]
        self.layers = [FusedEncoderLayer(block, d_model, pack) for block in blocks]
        self.norm = norm(encoder.norm, d_model)

    @torch.inference_mode()
    def __call__(self, src: Tensor, src_mask: Tensor | None) -> Tensor:
        """(batch, src_len) ids -> (batch, src_len, d_model)."""
        x = self.embed(src)
        x += self.positions[:, : src.shape[1]].to(x.dtype)
        shape, hidden = x.shape, hiding(src_mask, x.dtype)
        x = x.flatten(0, 1)  # (batch · src_len, d_model): every product is one of matrices
        for layer in self.layers:
            x = layer(x, shape[0], hidden)
        return self.norm(x).view(shape)


class FusedEncoderLayer:
    """An `EncoderBlock` on (batch · src_len, d_model)."""

    def __init__(self, block: EncoderBlock, d_model: int, pack: Pack) -> None:
        attention = cast(MultiHeadAttentionBlock, block.self_attention_block)
        self.h, self.d_k = attention.h, attention.d_k
        w_q, w_k, w_v = attention.w_q, attention.w_k, attention.w_v
        self.project = side_by_side(pack, w_q, w_k, w_v, first_times=self.d_k**-0.5)
        self.join = side_by_side(pack, attention.w_o)
        self.feed_forward = feed_forward(block.feed_forward_block, pack)
        self.around = around(block.residual_connections[0])
        self.norms = norms(block.residual_connections, d_model)

    def __call__(self, x: Tensor, batch: int, hidden: Tensor | None) -> Tensor:
        """The two sublayers, each in its residual connection."""
        x = self.around(x, self.norms[0], lambda y: self.attend(y, batch, hidden))
        return self.around(x, self.norms[1], self.feed_forward)

    def attend(self, y: Tensor, batch: int, hidden: Tensor | None) -> Tensor:
        """Scaled dot-product attention of every sentence to itself."""
        # (batch · src_len, 3 · d_model) -> (3, batch · h, src_len, d_k)
        heads = self.project(y).view(batch, -1, 3, self.h, self.d_k).permute(2, 0, 3, 1, 4)
        query, key, value = heads.flatten(1, 2)  # the scale of the scores is in query's weights
        scores = torch.bmm(query, key.transpose(1, 2))
        if hidden is not None:
            scores.view(batch, self.h, *scores.shape[1:]).add_(hidden)
        x = torch.bmm(softmax(scores), value)  # (batch · h, src_len, d_k)
        return self.join(x.view(batch, self.h, -1, self.d_k).transpose(1, 2).reshape(y.shape))


def hiding(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """A mask (True = may look) as what is added to scores: 0, or the lowest finite number.

    None where nothing is hidden, as in a batch of sentences of one length.
    """
    if mask is None or bool(mask.all()):
        return None
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, torch.finfo(dtype).min)
