"""The two graphs that ONNX gets: reading a source once, and writing one token.

Both are built of the model's own blocks. The decoder is `fast.incremental` as a pure
function: what was written comes in as a tensor and goes out one position longer.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.models import Transformer


class EncoderGraph(nn.Module):
    """A source becomes what every decoder layer looks at: its keys and values, once for all.

    Shape:
        src: (sentences, src_len) ids, src_mask: (sentences, 1, 1, src_len), True = may look
        -> memory: (sentences, layers, 2, h, src_len, d_k)
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Embed, encode, project for each decoder layer."""
        x = self.model.src_pos(_embedded(self.model.src_embed, src))
        output = self.model.encoder(x, src_mask)
        blocks = [layer.cross_attention_block for layer in self.model.decoder.layers]
        projections = [(block, w) for block in blocks for w in (block.w_k, block.w_v)]
        memory = torch.stack([block.split_heads(w(output)) for block, w in projections], dim=1)
        return memory.unflatten(1, (len(blocks), 2))


class DecoderGraph(nn.Module):
    """One token further, for every beam of every sentence.

    Shape:
        last: (sentences, beams) ids; memory as `EncoderGraph` gives it; src_mask as there;
        cache: (sentences, beams, layers, 2, h, written, d_k), at first with written = 0
        -> logits: (sentences, beams, vocab), the cache with written + 1
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model: Any = model

    def forward(
        self, last: Tensor, cache: Tensor, memory: Tensor, src_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Embed the one position, pass the layers with their pasts, project."""
        x = _embedded(self.model.tgt_embed, last)  # (sentences, beams, d_model)
        x = x + self.model.tgt_pos.pe[:, cache.shape[5]]  # the position that is written now
        pasts = []
        for number, layer in enumerate(self.model.decoder.layers):
            attend, cross_attend, feed_forward = layer.residual_connections
            step = SelfAttention(layer.self_attention_block, cache[:, :, number])
            look = CrossAttention(layer.cross_attention_block, memory[:, number], src_mask)
            x = feed_forward(cross_attend(attend(x, step), look), layer.feed_forward_block)
            pasts.append(step.past)
        x = self.model.decoder.norm(x)
        return self.model.projection_layer.proj(x), torch.stack(pasts, dim=2)


class SelfAttention:
    """The new position looks at itself and all before it; `past` then holds it too."""

    def __init__(self, block: Any, past: Tensor) -> None:
        self.block, self.past = block, past  # (sentences, beams, 2, h, written, d_k)

    def __call__(self, y: Tensor) -> Tensor:
        """(sentences, beams, d_model) -> the same."""
        block = self.block
        new = torch.stack([self._heads(block.w_k(y)), self._heads(block.w_v(y))], dim=2)
        self.past = torch.cat([self.past, new], dim=4)
        keys, values = self.past.unbind(2)  # (sentences, beams, h, written + 1, d_k) each
        x, _ = block.attention(self._heads(block.w_q(y)), keys, values, None, None)
        return block.w_o(x.squeeze(3).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        # (sentences, beams, d_model) -> (sentences, beams, h, 1, d_k)
        return x.unflatten(2, (self.block.h, self.block.d_k)).unsqueeze(3)


class CrossAttention:
    """The beams of a sentence ask its source side by side."""

    def __init__(self, block: Any, memory: Tensor, src_mask: Tensor) -> None:
        self.block, self.memory, self.src_mask = block, memory, src_mask

    def __call__(self, y: Tensor) -> Tensor:
        """(sentences, beams, d_model) -> the same."""
        block, (keys, values) = self.block, self.memory.unbind(1)
        query = block.split_heads(block.w_q(y))  # (sentences, h, beams, d_k)
        x, _ = block.attention(query, keys, values, self.src_mask, None)
        return block.w_o(block.join_heads(x))


def _embedded(embed: Any, ids: Tensor) -> Tensor:
    # Not `InputEmbeddings.forward`: its check of the ids is no part of a graph.
    return embed.embedding(ids) * math.sqrt(embed.d_model)
