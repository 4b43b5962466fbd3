"""One `DecoderBlock` for one position of every row, on caches that `FusedDecoder` keeps."""

from typing import NamedTuple, cast

import torch
from torch import Tensor

from clearhead.blocks import DecoderBlock, MultiHeadAttentionBlock
from clearhead.fast.fused_parts import around, feed_forward, norms, softmax
from clearhead.fast.packed_linear import Pack, side_by_side


class Past(NamedTuple):
    """What was written, as a layer sees it: views of the cache of `FusedDecoder`.

    Shapes: new (2, sentences, h, beams, d_k), where this step's keys and values go;
    keys (sentences · h, d_k, seen · beams) and values (sentences · h, seen · beams, d_k);
    hidden (sentences, 1, beams, seen · beams), 0 = may look, else -inf.
    """

    new: Tensor
    keys: Tensor
    values: Tensor
    hidden: Tensor


class Source(NamedTuple):
    """What was read.

    Shapes: keys (sentences · h, d_k, src_len), values (sentences · h, src_len, d_k),
    hidden (sentences · h, 1, src_len), 0 = may look.
    """

    keys: Tensor
    values: Tensor
    hidden: Tensor


class FusedDecoderLayer:
    """Four products of weights where the readable block has eight, two for each attention."""

    def __init__(self, block: DecoderBlock, d_model: int, pack: Pack) -> None:
        own = cast(MultiHeadAttentionBlock, block.self_attention_block)
        cross = cast(MultiHeadAttentionBlock, block.cross_attention_block)
        self.h, self.d_k = own.h, own.d_k
        scale = self.d_k**-0.5  # of the scores, here once for all in the queries' weights
        self.project = side_by_side(pack, own.w_q, own.w_k, own.w_v, first_times=scale)
        self.join = side_by_side(pack, own.w_o)
        self.ask = side_by_side(pack, cross.w_q, first_times=scale)
        self.join_answers = side_by_side(pack, cross.w_o)
        self.feed_forward = feed_forward(block.feed_forward_block, pack)
        self.around = around(block.residual_connections[0])
        self.norms = norms(block.residual_connections, d_model)

    def __call__(self, x: Tensor, past: Past, source: Source) -> Tensor:
        """(rows, d_model) -> (rows, d_model), as `DecoderBlock.forward`."""
        x = self.around(x, self.norms[0], lambda y: self.look_back(y, past))
        x = self.around(x, self.norms[1], lambda y: self.look_at_source(y, source))
        return self.around(x, self.norms[2], self.feed_forward)

    def look_back(self, y: Tensor, past: Past) -> Tensor:
        """Write the new keys and values down; attend to all that may be seen."""
        _, sentences, h, beams, d_k = past.new.shape
        # (rows, 3 · d_model) -> (3, sentences, h, beams, d_k)
        heads = self.project(y).view(sentences, beams, 3, h, d_k).permute(2, 0, 3, 1, 4)
        past.new.copy_(heads[1:])
        scores = torch.bmm(heads[0].reshape(-1, beams, d_k), past.keys)
        scores.view(sentences, h, beams, -1).add_(past.hidden)
        return self.join(self._joined(torch.bmm(softmax(scores), past.values)))

    def look_at_source(self, y: Tensor, source: Source) -> Tensor:
        """All beams of a sentence ask the same keys."""
        sentences = source.keys.shape[0] // self.h
        query = self.ask(y).view(sentences, -1, self.h, self.d_k).transpose(1, 2)
        query = query.reshape(-1, query.shape[2], self.d_k)  # (sentences · h, beams, d_k)
        scores = torch.baddbmm(source.hidden, query, source.keys)
        return self.join_answers(self._joined(torch.bmm(softmax(scores), source.values)))

    def _joined(self, x: Tensor) -> Tensor:
        """(sentences · h, beams, d_k) -> (sentences · beams, d_model)."""
        x = x.view(-1, self.h, x.shape[1], self.d_k).transpose(1, 2)
        return x.reshape(-1, self.h * self.d_k)
