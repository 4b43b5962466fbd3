r"""An encoder's stack over texts without padding: BERT and ESM-2 as few, large operations.

A batch of texts is usually a rectangle, and what a short text does not fill is computed all the
same, and thrown away. Here the texts stand one under the other, (tokens, d_model): every product
and every norm is of real tokens only. Attention alone must know who belongs together: texts of
one length are a *run*, and a run is a rectangle without padding, so it needs no mask either.

Per layer: one product for queries, keys and values, weights laid out once (`packed_linear`),
attention through `F.scaled_dot_product_attention`, which reads the heads where they stand.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import (
    Encoder,
    EncoderBlock,
    MultiHeadAttentionBlock,
    RotaryMultiHeadAttentionBlock,
    RotaryPositions,
)
from clearhead.fast import fused_parts
from clearhead.fast.fused_parts import around, feed_forward, is_watched, norm, norms
from clearhead.fast.packed_linear import Pack, as_short, float32, side_by_side


class Run(NamedTuple):
    """So many texts of one length, one under the other."""

    texts: int
    length: int


# Exactly these: a learner's own block, or one that somebody watches, must be the one that runs.
STANDARD = fused_parts.STANDARD | {RotaryMultiHeadAttentionBlock, RotaryPositions}


def can_fuse(encoder: nn.Module) -> bool:
    """Whether all parts are the library's own and nobody watches them."""
    return all(type(part) in STANDARD and not is_watched(part) for part in encoder.modules())


class FusedStack:
    """Called with rows of embeddings and the runs that they are; for `can_fuse` encoders.

    Shape:
        x: (tokens, d_model), runs: tokens = Σ texts · length -> (tokens, d_model)
    """

    def __init__(self, encoder: Encoder, d_model: int, pack: Pack = float32) -> None:
        blocks = [cast(EncoderBlock, block) for block in encoder.layers]
        self.layers = [FusedStackLayer(block, d_model, pack) for block in blocks]
        self.norm = norm(encoder.norm, d_model)

    def __call__(self, x: Tensor, runs: Sequence[Run]) -> Tensor:
        """One layer after the other, then the norm."""
        turn = self.layers[0].angles(runs) if self.layers else None
        for layer in self.layers:
            x = layer(x, runs, turn)
        return self.norm(x)


class Turn(NamedTuple):
    """Cosines and sines of every row's angles, (tokens, 1, d_k / 2) each; all heads share them."""

    cosine: Tensor
    sine: Tensor


class FusedStackLayer:
    """An `EncoderBlock` on (tokens, d_model)."""

    def __init__(self, block: EncoderBlock, d_model: int, pack: Pack) -> None:
        attention = cast(MultiHeadAttentionBlock, block.self_attention_block)
        self.h, self.d_k, self.pack = attention.h, attention.d_k, pack
        self.rotary = cast(RotaryPositions | None, getattr(attention, "rotary", None))
        self.project = side_by_side(pack, attention.w_q, attention.w_k, attention.w_v)
        self.join = side_by_side(pack, attention.w_o)
        self.feed_forward = feed_forward(block.feed_forward_block, pack)
        self.around = around(block.residual_connections[0])
        self.norms = norms(block.residual_connections, d_model)

    def __call__(self, x: Tensor, runs: Sequence[Run], turn: Turn | None) -> Tensor:
        """The two sublayers, each in its residual connection."""
        attend = as_short(self.pack, lambda y: self.attend(y, runs, turn))
        x = self.around(x, self.norms[0], attend)
        return self.around(x, self.norms[1], self.feed_forward)

    def attend(self, y: Tensor, runs: Sequence[Run], turn: Turn | None) -> Tensor:
        """Scaled dot-product attention of every text to itself."""
        heads = self.project(y).view(-1, 3, self.h, self.d_k)  # (tokens, 3, h, d_k)
        if turn is not None:
            turn_in_place(heads[:, :2], turn)
        attended, start = torch.empty_like(y), 0
        for texts, length in runs:
            end = start + texts * length
            # (texts · length, 3, h, d_k) -> three of (texts, h, length, d_k), without a copy
            run = heads[start:end].view(texts, length, 3, self.h, self.d_k)
            x = F.scaled_dot_product_attention(*run.permute(2, 0, 3, 1, 4))
            attended[start:end].view(texts, length, self.h, self.d_k).copy_(x.transpose(1, 2))
            start = end
        return self.join(attended)

    def angles(self, runs: Sequence[Run]) -> Turn | None:
        """How far each row is turned, where positions are rotary."""
        if self.rotary is None:
            return None
        theta = self.rotary.frequencies.float()
        longest = max(run.length for run in runs)
        angle = torch.arange(longest, device=theta.device, dtype=torch.float32)[:, None] * theta
        rows = [angle[: run.length].repeat(run.texts, 1) for run in runs]
        every = torch.cat(rows).unsqueeze(1)  # (tokens, 1, d_k / 2)
        return Turn(every.cos(), every.sin())


def turn_in_place(heads: Tensor, turn: Turn) -> None:
    """`RotaryPositions` on (tokens, 2, h, d_k): queries and keys."""
    a, b = heads.chunk(2, dim=-1)
    cosine, sine = (angle.unsqueeze(1).to(heads.dtype) for angle in turn)
    turned = a * cosine - b * sine
    b.mul_(cosine).add_(a * sine)
    a.copy_(turned)
