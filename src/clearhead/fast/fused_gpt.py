"""`IncrementalGpt` with few operations a step, for models of the standard blocks.

* One product gives queries, keys and values; weights are laid out for the number of rows.
* The cache is allocated once, for all steps that will follow: nothing is ever appended, where
  a list that grows copies all keys and values of all layers at every token.
* Attention is two products of batches of matrices on views of the cache, no copy between them.
* Of a prompt, only the last token's hidden state goes to the vocabulary.
"""

from typing import cast

import torch
from torch import Tensor, nn

from clearhead.blocks import (
    Encoder,
    EncoderBlock,
    LearnedPositions,
    PlainEmbeddings,
    TiedProjection,
    look_ahead_mask,
)
from clearhead.fast.fused_gpt_layer import FusedGptLayer, Past
from clearhead.fast.fused_parts import is_watched, norm
from clearhead.fast.fused_stack import can_fuse
from clearhead.fast.incremental_gpt import last_of, next_places
from clearhead.fast.packed_linear import Pack, float32


def can_fuse_gpt(model: nn.Module) -> bool:
    """Whether all parts are the library's own and nobody watches them."""
    kinds = {
        "embed": PlainEmbeddings, "positions": LearnedPositions, "projection_layer": TiedProjection
    }  # fmt: skip
    parts = [(model.get_submodule(name), kind) for name, kind in kinds.items()]
    return can_fuse(model.get_submodule("decoder")) and all(
        type(part) is kind and not is_watched(part) for part, kind in parts
    )


class FusedGpt:
    """Called as `IncrementalGpt` is; `pack` chooses how the products are computed."""

    def __init__(self, model: nn.Module, pack: Pack = float32) -> None:
        embed, decoder = cast(PlainEmbeddings, model.embed), cast(Encoder, model.decoder)
        self.words = embed.embedding.weight.detach()  # (vocab, d_model)
        self.positions = cast(LearnedPositions, model.positions).table.weight.detach()
        blocks = [cast(EncoderBlock, block) for block in decoder.layers]
        self.layers = [FusedGptLayer(block, embed.d_model, pack) for block in blocks]
        self.norm = norm(decoder.norm, embed.d_model)
        self.cache = self.words.new_empty(0)  # (layers, 2, rows, h, capacity, d_k)
        self.hidden: Tensor | None = None

    @torch.inference_mode()
    def start(self, ids: Tensor, real: Tensor, most: int) -> Tensor:
        """As `IncrementalGpt.start`."""
        rows, width = ids.shape
        # At a distance of a power of two bytes the keys of all rows would compete for the same
        # few lines of the processor's cache: an odd number of columns.
        self._allocate(rows, (width + most) | 1)
        self.column, self.ages = width, real.sum(dim=1)
        full = bool(real.all())
        self.hidden = None if full else self._hide(real, width)
        places = (real.cumsum(dim=1) - 1).clamp_(min=0)
        x = (self.words[ids] + self.positions[places]).flatten(0, 1)
        allowed = None if full else _allowed(real)
        for layer, cache in zip(self.layers, self.cache, strict=True):
            x = layer.read(x, cache, allowed)
        x = x.view(rows, width, -1)[torch.arange(rows, device=ids.device), last_of(real)]
        return self.norm(x)

    @torch.inference_mode()
    def step(self, ids: Tensor) -> Tensor:
        """As `IncrementalGpt.step`."""
        places = next_places(self.ages, self.positions.shape[0])
        x = self.words.index_select(0, ids).add_(self.positions.index_select(0, places))
        end = self.column + 1
        hidden = None if self.hidden is None else self.hidden[:, :, :end]
        new = self.cache[:, :, :, :, self.column]  # (layers, 2, rows, h, d_k)
        # (layers, 2, rows · h, seen, d_k)
        keys, values = self.cache[:, :, :, :, :end].flatten(2, 3).unbind(1)
        views = zip(new.unbind(), keys.mT.unbind(), values.unbind(), strict=True)
        for layer, own in zip(self.layers, views, strict=True):
            x = layer.step(x, Past(*own, hidden))
        self.column, self.ages = end, self.ages + 1
        return self.norm(x)

    @torch.inference_mode()
    def keep(self, rows: Tensor) -> None:
        """As `IncrementalGpt.keep`."""
        self.cache = self.cache.index_select(2, rows)
        self.ages = self.ages[rows]
        if self.hidden is not None:
            self.hidden = self.hidden[rows]

    def _allocate(self, rows: int, capacity: int) -> None:
        h, d_k = self.layers[0].h, self.layers[0].d_k
        shape = len(self.layers), 2, rows, h, capacity, d_k
        self.cache = self.positions.new_empty(shape)

    def _hide(self, real: Tensor, width: int) -> Tensor:
        """(rows, 1, capacity): what is added to the scores, 0 or the lowest finite number."""
        hidden = self.positions.new_zeros(real.shape[0], 1, self.cache.shape[4])
        lowest = torch.finfo(hidden.dtype).min
        hidden[:, 0, :width].masked_fill_(~real, lowest)
        return hidden


def _allowed(real: Tensor) -> Tensor:
    """(rows, 1, width, width): who looks at whom in the prompts.

    Filling looks at itself: a softmax over nothing would be NaN, and 0 · NaN is NaN in whoever
    does not look at it.
    """
    itself = torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
    seen = real[:, None, None, :] & look_ahead_mask(real.shape[1], real.device)
    return seen | itself
