r"""`IncrementalDecoder` with few operations a step, for models of the standard blocks.

What makes a step cheap, beside the cache itself:

* the weights of queries, keys and values lie in one matrix, and the keys and
  values that all layers take from the source come from one product;
* the cache has its final layout: attention is two products of batches of
  matrices on views of it, no copy between them;
* **beams are not copied when they are re-ranked.** The keys of the K beams of a
  sentence lie side by side, and every beam attends to all of them, under a mask
  that lets it see its own ancestors only. Re-ranking reorders the mask, K · K
  small numbers a position, instead of 2 · layers · d_model floats.

  .. math:: \text{softmax}(q_k [K_1 … K_t]^T + A_k), \quad
            A_{k,(p,j)} = 0 \text{ if beam } j \text{ at position } p
            \text{ is an ancestor of beam } k, \text{ else } -\infty

* **sentences may be replaced** while others are being written: the newcomer's
  mask hides all that was written in its place before, and it counts its own positions.
"""

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn

from clearhead.blocks import (
    Decoder,
    DecoderBlock,
    InputEmbeddings,
    MultiHeadAttentionBlock,
    PositionalEncoding,
)
from clearhead.errors import UserError
from clearhead.fast.fused_decoder_layer import FusedDecoderLayer, Past, Source
from clearhead.fast.fused_encoder import hiding
from clearhead.fast.fused_parts import norm
from clearhead.fast.packed_linear import Pack, float32, side_by_side

# Columns of a new cache, and always an odd number of them: at a distance of a power of two
# bytes the keys of all sentences would compete for the same few lines of the processor's cache.
CAPACITY = 33


class FusedDecoder:
    """Called as `IncrementalDecoder` is; `pack` chooses how the products are computed.

    Shapes: sentences × beams = rows, sentence by sentence. A column is a step of
    the whole batch; a sentence's own positions begin in the column where it came in.
    """

    can_replace = True  # sentences may begin while others are being written

    memory: Tensor  # what was read; see `_read`
    unread: Tensor
    cache: Tensor  # what was written; see `_make_room`
    strangers: Tensor

    def __init__(self, model: nn.Module, pack: Pack = float32) -> None:
        embed = cast(InputEmbeddings, model.tgt_embed)
        decoder, d_model = cast(Decoder, model.decoder), embed.d_model
        every = torch.arange(embed.vocab_size, device=embed.embedding.weight.device)
        self.words = embed(every).detach()  # (vocab, d_model), scaled where the model scales
        self.positions = cast(PositionalEncoding, model.tgt_pos).pe[0].to(self.words.dtype)
        blocks = [cast(DecoderBlock, block) for block in decoder.layers]
        self.layers = [FusedDecoderLayer(block, d_model, pack) for block in blocks]
        self.h, self.d_k = self.layers[0].h, self.layers[0].d_k
        readers = [cast(MultiHeadAttentionBlock, block.cross_attention_block) for block in blocks]
        self.read = side_by_side(pack, *(w for b in readers for w in (b.w_k, b.w_v)))
        self.norm = norm(decoder.norm, d_model)

    @torch.inference_mode()
    def start(self, encoder_output: Tensor, src_mask: Tensor | None) -> None:
        """Begin new sentences, a row each: (sentences, src_len, d_model), their padding mask."""
        sentences = encoder_output.shape[0]
        self.beams, self.sentences, self.column = 1, sentences, 0
        # The column of each sentence's first position; None where nobody is writing.
        self.starts: list[int | None] = [0] * sentences
        self.ages = torch.zeros(sentences, dtype=torch.long, device=encoder_output.device)
        self._read(encoder_output, src_mask)
        self._make_room(CAPACITY)

    @torch.inference_mode()
    def step(self, ids: Tensor) -> Tensor:
        """(rows,) the token last written -> (rows, d_model) what comes next.

        Raises:
            UserError: the target has no more positions.
        """
        seen = self._columns()
        self.strangers[:, :, :, self.column] = self.itself
        x = self.words.index_select(0, ids)
        positions = self.positions.index_select(0, self.ages).unsqueeze(1)
        x.view(self.sentences, self.beams, -1).add_(positions)
        for layer, past, source in zip(self.layers, self._past(seen), self.sources, strict=True):
            x = layer(x, past, source)
        self.column += 1
        self.ages.add_(1).clamp_(max=self.positions.shape[0] - 1)  # who is retired may stay longer
        return self.norm(x)

    @torch.inference_mode()
    def reorder(self, rows: Tensor) -> None:
        """Row i goes on from what row rows[i] has written (both of the same sentence).

        A single row of a sentence may become several: that is how beams begin.
        """
        if rows.numel() != self.sentences * self.beams:
            self._part(rows.numel() // self.sentences)
            return
        written = self.strangers.flatten(0, 2)[:, : self.column]  # (rows, column, beams), a view
        written.copy_(written.index_select(0, rows))

    @torch.inference_mode()
    def keep(self, sentences: Tensor) -> None:
        """Only these sentences, by number, stay in the batch, with all their beams."""
        written = slice(self._first(), self.column)  # what else there is room for is empty
        cache = self.cache[:, :, :, :, written].index_select(2, sentences)
        layers, two, _, *place = self.cache.shape
        self.cache = cache.new_empty(layers, two, len(sentences), *place)
        self.cache[:, :, :, :, written] = cache
        self.memory = self.memory.index_select(2, sentences)
        self.unread = self.unread.index_select(0, sentences)
        self._look_at_memory()
        self.strangers = self.strangers.index_select(0, sentences)
        self.ages = self.ages.index_select(0, sentences)
        self.starts = [self.starts[number] for number in sentences.tolist()]
        self.sentences = len(self.starts)

    def retire(self, sentences: list[int]) -> None:
        """These, by number, are written; their rows run on unseen until they are replaced."""
        for number in sentences:
            self.starts[number] = None

    @torch.inference_mode()
    def replace(self, sentences: Tensor, newcomers: "FusedDecoder", whom: Tensor) -> None:
        """Sentences `whom` of another decoder go on in the place of these; nobody else notices.

        They read no more than the longest of `start`, have as many beams, and have written
        no more than those who are here; what they wrote stands in the latest columns.
        """
        length, width = newcomers.column, newcomers.memory.shape[4]
        self.memory[:, :, sentences, :, :width] = newcomers.memory[:, :, whom]
        self.unread.index_fill_(0, sentences, torch.finfo(self.unread.dtype).min)
        self.unread[sentences, ..., :width] = newcomers.unread[whom]
        latest = slice(self.column - length, self.column)
        self.cache[:, :, sentences, :, latest] = newcomers.cache[:, :, whom, :, :length]
        self.strangers.index_fill_(0, sentences, -torch.inf)
        self.strangers[sentences, :, :, latest] = newcomers.strangers[whom, :, :, :length]
        self.ages.index_copy_(0, sentences, newcomers.ages[whom])
        for number in sentences.tolist():
            self.starts[number] = latest.start

    def _read(self, encoder_output: Tensor, mask: Tensor | None) -> None:
        """The source's keys and values in all layers, and which of them are hidden."""
        sentences, src_len, _ = encoder_output.shape
        layers, h, d_k = len(self.layers), self.h, self.d_k
        new = self.read(encoder_output.flatten(0, 1)).view(sentences, src_len, layers, 2, h, d_k)
        # (layers, 2, sentences, h, src_len, d_k) and (sentences, h, 1, src_len), 0 = may look
        self.memory = new.permute(2, 3, 0, 4, 1, 5).contiguous()
        self.unread = new.new_zeros(sentences, h, 1, src_len)
        hidden = hiding(mask, new.dtype)
        if hidden is not None:
            self.unread.copy_(hidden)
        self._look_at_memory()

    def _part(self, beams: int) -> None:
        """Several beams go on from the only one: each sees a copy of its own of what it wrote."""
        written = self.cache[:, :, :, :, : self.column]
        self.beams = beams
        self._make_room(self.cache.shape[4])
        self.cache[:, :, :, :, : self.column] = written
        self.strangers[:, :, :, : self.column] = self.itself.unsqueeze(1)

    def _make_room(self, capacity: int) -> None:
        """Buffers for so many columns, with nothing in them."""
        layers, _, sentences, h, _, d_k = self.memory.shape
        beams = self.beams
        # (layers, 2, sentences, h, column, beams, d_k)
        self.cache = self.memory.new_empty(layers, 2, sentences, h, capacity, beams, d_k)
        # (sentences, 1, beams, column, beams): 0 = an ancestor, else -inf
        self.strangers = self.memory.new_full((sentences, 1, beams, capacity, beams), -torch.inf)
        self.itself = self.memory.new_full((beams, beams), -torch.inf).fill_diagonal_(0.0)

    def _past(self, seen: slice) -> Iterator[Past]:
        """The views of all layers, made at once: there are few operations, but many layers."""
        hidden = self.strangers[:, :, :, seen].flatten(3)
        new = self.cache[:, :, :, :, self.column]  # (layers, 2, sentences, h, beams, d_k)
        # (layers, 2, sentences · h, seen · beams, d_k)
        window = self.cache[:, :, :, :, seen].flatten(4, 5).flatten(2, 3)
        keys, values = window.unbind(1)
        for own in zip(new.unbind(), keys.mT.unbind(), values.unbind(), strict=True):
            yield Past(*own, hidden)

    def _look_at_memory(self) -> None:
        """The views of the sources, which stay until sentences leave."""
        keys, values = self.memory.flatten(2, 3).unbind(1)  # (layers, sentences · h, width, d_k)
        unread = self.unread.flatten(0, 1)
        pairs = zip(keys.mT.unbind(), values.unbind(), strict=True)
        self.sources = [Source(key, value, unread) for key, value in pairs]

    def _first(self) -> int:
        """The first column that somebody who is writing has written."""
        return min((start for start in self.starts if start is not None), default=self.column)

    def _columns(self) -> slice:
        """Those that this step looks at, its own at the end; there is room for it."""
        first = self._first()
        length, most = self.column - first, self.positions.shape[0]
        if length >= most:
            raise UserError(
                f"the translation has no room for token {length + 1}: this model has "
                f"tgt_seq_len={most} positions; lower max_length"
            )
        if self.column == self.cache.shape[4]:
            self._move(first, 2 * length + CAPACITY)
            first = 0
        return slice(first, self.column + 1)

    def _move(self, first: int, capacity: int) -> None:
        """Forget what stands before `first`: new buffers, what is still seen at their beginning."""
        columns, length = slice(first, self.column), self.column - first
        cache, strangers = self.cache[:, :, :, :, columns], self.strangers[:, :, :, columns]
        self._make_room(capacity)
        self.cache[:, :, :, :, :length], self.strangers[:, :, :, :length] = cache, strangers
        self.column = length
        self.starts = [None if start is None else start - first for start in self.starts]
