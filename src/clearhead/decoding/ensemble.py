r"""Several models write one translation (Sutskever et al. 2014, table 1).

.. math:: p(y_t | y_{<t}, x) = \frac{1}{N} \sum_{n=1}^{N} p_n(y_t | y_{<t}, x)

Models that differ in nothing but their seeds make different mistakes; what most of them
think likely is better than what any one does. Each step costs as much as all of theirs.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import torch
from torch import Tensor

from clearhead.decoding.engine import Engine, ReplacingDecoder, StepDecoder
from clearhead.errors import UserError

SAME = ("src_vocab_size", "tgt_vocab_size", "pad_id", "bos_id", "eos_id")


def ensemble(engines: Sequence[Engine]) -> Engine:
    """One engine for all searches, of models with the same vocabulary.

    Raises:
        UserError: their vocabularies or signs differ.
    """
    if len(engines) == 1:
        return engines[0]
    first = engines[0].config
    for engine in engines[1:]:
        for name in SAME:
            ours, theirs = getattr(first, name), getattr(engine.config, name)
            if ours != theirs:
                raise UserError(
                    f"an ensemble writes in one vocabulary, and its models have {name}={ours} and "
                    f"{theirs}; give models trained with the same tokenizer"
                )
    widths = [engine.config.d_model for engine in engines]
    positions = {
        name: min(getattr(engine.config, name) for engine in engines)
        for name in ("src_seq_len", "tgt_seq_len")
    }

    def encode(src: Tensor, mask: Tensor | None) -> Tensor:
        """(batch, src_len) ids -> (batch, src_len, sum of all d_model)."""
        return torch.cat([engine.encode(src, mask) for engine in engines], dim=-1)

    def logits(hidden: Tensor) -> Tensor:
        """(rows, sum of all d_model) -> (rows, vocab), logarithms of the mean probabilities."""
        each = zip(engines, hidden.split(widths, dim=-1), strict=True)
        said = [engine.logits(own.contiguous()).float().log_softmax(dim=-1) for engine, own in each]
        return torch.stack(said).logsumexp(dim=0) - math.log(len(said))

    decoder = EnsembleDecoder([engine.decoder for engine in engines], widths)
    config = replace(first, **positions)
    return Engine(config, engines[0].device, encode, decoder, logits)


class EnsembleDecoder:
    """Called as each of its decoders; their memories and outputs stand side by side."""

    def __init__(self, decoders: Sequence[StepDecoder], widths: Sequence[int]) -> None:
        self.decoders, self.widths = list(decoders), list(widths)

    @property
    def can_replace(self) -> bool:
        """As `StepDecoder.can_replace`: if all can."""
        return all(decoder.can_replace for decoder in self.decoders)

    def start(self, encoder_output: Tensor, src_mask: Tensor | None) -> None:
        """As `StepDecoder.start`."""
        own = encoder_output.split(self.widths, dim=-1)
        for decoder, output in zip(self.decoders, own, strict=True):
            decoder.start(output.contiguous(), src_mask)

    def step(self, ids: Tensor) -> Tensor:
        """As `StepDecoder.step`."""
        return torch.cat([decoder.step(ids) for decoder in self.decoders], dim=-1)

    def reorder(self, rows: Tensor) -> None:
        """As `StepDecoder.reorder`."""
        for decoder in self.decoders:
            decoder.reorder(rows)

    def keep(self, sentences: Tensor) -> None:
        """As `StepDecoder.keep`."""
        for decoder in self.decoders:
            decoder.keep(sentences)

    def retire(self, sentences: list[int]) -> None:
        """As `StepDecoder.retire`."""
        for decoder in self.decoders:
            decoder.retire(sentences)

    def replace(self, sentences: Tensor, newcomers: Self, whom: Tensor) -> None:
        """As `ReplacingDecoder.replace`."""
        for decoder, other in zip(self.decoders, newcomers.decoders, strict=True):
            assert isinstance(decoder, ReplacingDecoder)
            decoder.replace(sentences, other, whom)

    def __copy__(self) -> "EnsembleDecoder":
        return EnsembleDecoder([copy.copy(decoder) for decoder in self.decoders], self.widths)
