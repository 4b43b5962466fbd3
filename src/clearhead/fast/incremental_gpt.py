"""A GPT that writes one token at a time and does not read the old ones again: the KV cache.

What stands before a position never changes, for nobody looks ahead; so the keys and values of
a token are computed once and kept. The first call reads the prompts, all tokens at once; each
further one computes one new position. It says what `Gpt.forward` says of the whole text.

Prompts of different lengths stand side by side, filled up on either side. A row counts its own
positions, and nobody looks at filling: what a row says does not depend on its company.
"""

from typing import cast

import torch
from torch import Tensor, nn

from clearhead.blocks import (
    Encoder,
    EncoderBlock,
    LearnedPositions,
    MultiHeadAttentionBlock,
    look_ahead_mask,
)
from clearhead.errors import UserError


class IncrementalGpt:
    """Walks a Gpt's own modules; only attention is replaced, by one that looks into the cache.

    The model must be in eval mode.
    """

    def __init__(self, model: nn.Module) -> None:
        self.embed = cast(nn.Module, model.embed)
        self.positions = cast(LearnedPositions, model.positions)
        self.decoder = cast(Encoder, model.decoder)
        self.layers = [cast(EncoderBlock, layer) for layer in self.decoder.layers]

    @torch.inference_mode()
    def start(self, ids: Tensor, real: Tensor, most: int) -> Tensor:
        """Read prompts; at most `most` steps will follow.

        Shape:
            ids: (rows, width), real: (rows, width) True = no filling
            -> (rows, d_model), what comes after the last token of each
        """
        rows, width = ids.shape
        first = cast(MultiHeadAttentionBlock, self.layers[0].self_attention_block)
        shape = len(self.layers), 2, rows, first.h, width + most, first.d_k
        self.cache = self.positions.table.weight.new_empty(shape)
        self.real = real.new_zeros(rows, width + most)
        self.real[:, :width] = real
        self.column, self.ages = 0, real.sum(dim=1)  # (rows,) tokens of each
        places = (real.cumsum(dim=1) - 1).clamp_(min=0)
        allowed = look_ahead_mask(width, ids.device) & real[:, None, None, :]
        hidden = self._read(ids, places, allowed)
        return hidden[torch.arange(rows, device=ids.device), last_of(real)]

    @torch.inference_mode()
    def step(self, ids: Tensor) -> Tensor:
        """(rows,) the token last written -> (rows, d_model) what comes next."""
        places = next_places(self.ages, self.positions.seq_len)
        self.real[:, self.column] = True
        allowed = self.real[:, None, None, : self.column + 1]
        hidden = self._read(ids.unsqueeze(1), places.unsqueeze(1), allowed)
        self.ages = self.ages + 1
        return hidden[:, 0]

    @torch.inference_mode()
    def keep(self, rows: Tensor) -> None:
        """Only these rows, by number, go on."""
        self.cache = self.cache.index_select(2, rows)
        self.real, self.ages = self.real[rows], self.ages[rows]

    def _read(self, ids: Tensor, places: Tensor, allowed: Tensor) -> Tensor:
        """(rows, new) ids at these places -> (rows, new, d_model)."""
        x = self.embed(ids) + self.positions.table(places)
        for number, layer in enumerate(self.layers):
            x = self._through(layer, x, number, allowed)
        self.column += ids.shape[1]
        return self.decoder.norm(x)

    def _through(self, layer: EncoderBlock, x: Tensor, number: int, allowed: Tensor) -> Tensor:
        """`EncoderBlock.forward`, with attention that remembers."""
        attend, feed_forward = layer.residual_connections
        block = cast(MultiHeadAttentionBlock, layer.self_attention_block)
        x = attend(x, lambda y: self._attention(block, y, number, allowed))
        return feed_forward(x, layer.feed_forward_block)

    def _attention(
        self, block: MultiHeadAttentionBlock, y: Tensor, number: int, allowed: Tensor
    ) -> Tensor:
        end = self.column + y.shape[1]
        kept = self.cache[number]  # (2, rows, h, capacity, d_k)
        kept[0, :, :, self.column : end] = block.split_heads(block.w_k(y))
        kept[1, :, :, self.column : end] = block.split_heads(block.w_v(y))
        keys, values = kept[:, :, :, :end]
        x, _ = block.attention(block.split_heads(block.w_q(y)), keys, values, allowed, None)
        return block.w_o(block.join_heads(x))


def last_of(real: Tensor) -> Tensor:
    """(rows, width) -> (rows,) where the last token of each row stands."""
    return (torch.arange(real.shape[1], device=real.device) * real).amax(dim=1)


def next_places(ages: Tensor, seq_len: int) -> Tensor:
    """(rows,) the positions of the next tokens; a row that is done may run on in the last one.

    Raises:
        UserError: no row has a position left.
    """
    if int(ages.min()) >= seq_len:
        raise UserError(
            f"there is no room for token {int(ages.min()) + 1}: this model has seq_len={seq_len} "
            "positions; shorten the prompt or write fewer tokens"
        )
    return ages.clamp(max=seq_len - 1)
