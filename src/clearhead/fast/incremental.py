"""Writing one token at a time without reading the old ones again: the KV cache.

Position t of a decoder looks at the keys and values of positions 0 … t, and what
stands before t never changes (the look-ahead mask saw to that in training). So
each step computes one new key and value per layer and remembers the rest; the
keys and values of the source are computed once. A step then costs O(t) instead
of O(t²), and says the same: tests/fast/test_incremental.py holds it to the
readable `Transformer.decode`.
"""

from typing import cast

import torch
from torch import Tensor, nn

from clearhead.blocks import Decoder, DecoderBlock, MultiHeadAttentionBlock, PositionalEncoding
from clearhead.errors import UserError

FIRST_CAPACITY = 16


class IncrementalDecoder:
    """Walks a Transformer's own decoder modules one position at a time.

    The residual connections, norms and feed-forwards are called as they are;
    only attention is replaced, by a closure that looks into the cache. Hence the
    same code serves pre-norm, post-norm and any replaced block with the
    attributes of `MultiHeadAttentionBlock`. The model must be in eval mode.

    Shapes: sentences × beams = rows, sentence by sentence. The beams of a
    sentence share its source: in cross-attention they are queries side by side.
    """

    can_replace = False  # all sentences of a batch begin together

    def __init__(self, model: nn.Module) -> None:
        self.embed = cast(nn.Module, model.tgt_embed)
        self.positions = cast(PositionalEncoding, model.tgt_pos)
        self.decoder = cast(Decoder, model.decoder)
        self.layers = [cast(DecoderBlock, layer) for layer in self.decoder.layers]

    @torch.inference_mode()
    def start(self, encoder_output: Tensor, src_mask: Tensor | None) -> None:
        """Begin new sentences, a row each: (sentences, src_len, d_model), their padding mask."""
        self.length, self.beams, self.sentences = 0, 1, encoder_output.shape[0]
        self.src_mask = src_mask  # (sentences, 1, 1, src_len)
        # (layers, 2, sentences, h, src_len, d_k): the source's keys and values, once and for all
        self.memory = torch.stack(
            [_keys_and_values(layer.cross_attention_block, encoder_output) for layer in self.layers]
        )
        # (layers, 2, rows, h, capacity, d_k): what was written so far
        self.cache = self._room(self.sentences, FIRST_CAPACITY)
        self.spare = self.cache[:, :, :0]

    @torch.inference_mode()
    def step(self, ids: Tensor) -> Tensor:
        """(rows,) the token last written -> (rows, d_model) what comes next.

        Raises:
            UserError: the target has no more positions.
        """
        self._make_room()
        ids = ids.view(self.sentences, self.beams)
        x = self.embed(ids)  # (sentences, beams, d_model): one position of every row
        x = x + self.positions.pe[:, self.length].to(x.dtype)
        for number, layer in enumerate(self.layers):
            x = self._through(layer, x, number)
        self.length += 1
        return self.decoder.norm(x).flatten(0, 1)

    @torch.inference_mode()
    def reorder(self, rows: Tensor) -> None:
        """Row i goes on from what row rows[i] has written (both of the same sentence).

        A single row of a sentence may become several: that is how beams begin.
        """
        self.beams = rows.numel() // self.sentences
        capacity = self.cache.shape[4]
        if (self.spare.shape[2], self.spare.shape[4]) != (rows.numel(), capacity):
            self.spare = self._room(rows.numel(), capacity)
        # From one buffer into the other and back at the next step: fresh memory
        # for every step would cost four times as much as the copying itself.
        old, new = self.cache[..., : self.length, :], self.spare[..., : self.length, :]
        torch.index_select(old, 2, rows, out=new)
        self.cache, self.spare = self.spare, self.cache

    @torch.inference_mode()
    def keep(self, sentences: Tensor) -> None:
        """Only these sentences, by number, stay in the batch, with all their beams."""
        beams = torch.arange(self.beams, device=sentences.device)
        rows = (sentences[:, None] * self.beams + beams).flatten()
        self.sentences = sentences.shape[0]
        self.reorder(rows)
        self.memory = self.memory.index_select(2, sentences)
        if self.src_mask is not None:
            self.src_mask = self.src_mask.index_select(0, sentences)

    def retire(self, sentences: list[int]) -> None:
        """These are written. Here it costs nothing to let their rows run on until `keep`."""

    def _through(self, layer: DecoderBlock, x: Tensor, number: int) -> Tensor:
        """`DecoderBlock.forward`, with attention that remembers."""
        attend, cross_attend, feed_forward = layer.residual_connections
        x = attend(x, lambda y: self._self_attention(layer.self_attention_block, y, number))
        x = cross_attend(x, lambda y: self._cross_attention(layer.cross_attention_block, y, number))
        return feed_forward(x, layer.feed_forward_block)

    def _self_attention(self, module: nn.Module, y: Tensor, number: int) -> Tensor:
        block = cast(MultiHeadAttentionBlock, module)
        row = y.view(-1, 1, y.shape[-1])  # (sentences, beams, d_model) -> (rows, 1, d_model)
        end = self.length + 1
        self.cache[number, :, :, :, self.length : end] = _keys_and_values(block, row)
        keys, values = self.cache[number, :, :, :, :end]  # (rows, h, end, d_k) each
        # The new position may look at everything there is: no mask.
        x, _ = block.attention(block.split_heads(block.w_q(row)), keys, values, None, None)
        return block.w_o(block.join_heads(x)).view_as(y)

    def _cross_attention(self, module: nn.Module, y: Tensor, number: int) -> Tensor:
        block = cast(MultiHeadAttentionBlock, module)
        keys, values = self.memory[number]  # (sentences, h, src_len, d_k) each
        query = block.split_heads(block.w_q(y))  # (sentences, h, beams, d_k)
        x, _ = block.attention(query, keys, values, self.src_mask, None)
        return block.w_o(block.join_heads(x))

    def _make_room(self) -> None:
        most = self.positions.pe.shape[1]
        if self.length >= most:
            raise UserError(
                f"the translation has no room for token {self.length + 1}: this model has "
                f"tgt_seq_len={most} positions; lower max_length"
            )
        if self.length == self.cache.shape[4]:
            self.cache = torch.cat([self.cache, torch.empty_like(self.cache)], dim=4)

    def _room(self, rows: int, capacity: int) -> Tensor:
        layers, _, _, h, _, d_k = self.memory.shape
        return self.memory.new_empty(layers, 2, rows, h, capacity, d_k)


def _keys_and_values(module: nn.Module, x: Tensor) -> Tensor:
    """(batch, seq_len, d_model) -> (2, batch, h, seq_len, d_k)."""
    block = cast(MultiHeadAttentionBlock, module)
    return torch.stack((block.split_heads(block.w_k(x)), block.split_heads(block.w_v(x))))
