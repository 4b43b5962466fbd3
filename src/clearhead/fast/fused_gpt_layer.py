"""One `EncoderBlock` under a look-ahead mask, on caches that `FusedGpt` keeps."""

from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.blocks import EncoderBlock, MultiHeadAttentionBlock
from clearhead.fast.fused_parts import around, feed_forward, norms, softmax
from clearhead.fast.packed_linear import Pack, as_short, side_by_side


class Past(NamedTuple):
    """What was written, as a layer sees it: views of the cache of `FusedGpt`.

    Shapes: new (2, rows, h, d_k), where this step's keys and values go; keys
    (rows · h, d_k, seen) and values (rows · h, seen, d_k), this step's included;
    hidden (rows, 1, seen), 0 = may look, or None where all may be seen.
    """

    new: Tensor
    keys: Tensor
    values: Tensor
    hidden: Tensor | None


class FusedGptLayer:
    """Four products of weights where the readable block has six."""

    def __init__(self, block: EncoderBlock, d_model: int, pack: Pack) -> None:
        attention = cast(MultiHeadAttentionBlock, block.self_attention_block)
        self.h, self.d_k, self.pack = attention.h, attention.d_k, pack
        w_q, w_k, w_v = attention.w_q, attention.w_k, attention.w_v
        # The scale of the scores, here once for all in the queries' weights.
        self.project = side_by_side(pack, w_q, w_k, w_v, first_times=self.d_k**-0.5)
        self.join = side_by_side(pack, attention.w_o)
        self.feed_forward = feed_forward(block.feed_forward_block, pack)
        self.around = around(block.residual_connections[0])
        self.norms = norms(block.residual_connections, d_model)

    def step(self, x: Tensor, past: Past) -> Tensor:
        """One position of every row: (rows, d_model) -> the same."""
        x = self.around(x, self.norms[0], lambda y: self.look_back(y, past))
        return self.around(x, self.norms[1], self.feed_forward)

    def read(self, x: Tensor, cache: Tensor, allowed: Tensor | None) -> Tensor:
        """Whole prompts, whose keys and values are written down.

        Shape:
            x: (rows · width, d_model), cache: (2, rows, h, capacity, d_k),
            allowed: (rows, 1, width, width) -> (rows · width, d_model)
        """

        def attend(y: Tensor) -> Tensor:
            # (rows · width, 3 · d_model) -> (3, rows, h, width, d_k)
            heads = self._split(y, cache.shape[1]).permute(2, 0, 3, 1, 4)
            cache[..., : heads.shape[3], :] = heads[1:]
            query, key, value = heads
            x = F.scaled_dot_product_attention(
                query, key, value, allowed, is_causal=allowed is None, scale=1.0
            )
            return self.join(x.transpose(1, 2).reshape(y.shape))

        x = self.around(x, self.norms[0], as_short(self.pack, attend))
        return self.around(x, self.norms[1], self.feed_forward)

    def look_back(self, y: Tensor, past: Past) -> Tensor:
        """Write the new keys and values down; attend to all that was written."""
        heads = self._split(y, y.shape[0]).squeeze(1)  # (rows, 3, h, d_k)
        past.new.copy_(heads[:, 1:].transpose(0, 1))
        # (rows · h, 1, d_k) @ (rows · h, d_k, seen)
        scores = torch.bmm(heads[:, 0].reshape(-1, 1, self.d_k), past.keys)
        if past.hidden is not None:
            scores.view(y.shape[0], self.h, -1).add_(past.hidden)
        # (rows · h, 1, seen) @ (rows · h, seen, d_k)
        return self.join(torch.bmm(softmax(scores), past.values).view(y.shape))

    def _split(self, y: Tensor, rows: int) -> Tensor:
        """(rows · width, d_model) -> queries, keys, values: (rows, width, 3, h, d_k)."""
        return self.project(y).view(rows, -1, 3, self.h, self.d_k)
