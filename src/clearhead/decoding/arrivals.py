"""The sentences that wait to be written, longest first, read a batch at a time."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.decoding.batching import padded
from clearhead.decoding.engine import Engine
from clearhead.errors import UserError


class Read(NamedTuple):
    """Sentences that the encoder has seen: their numbers, its output and their mask.

    Shapes: output (sentences, src_len, d_model), mask (sentences, 1, 1, src_len).
    """

    numbers: list[int]
    output: Tensor
    mask: Tensor


class Arrivals:
    """Hands out sentences in their order; the encoder reads `at_once` of them at a time."""

    def __init__(self, engine: Engine, sources: Sequence[Sequence[int]], at_once: int) -> None:
        self.engine, self.sources, self.at_once = engine, sources, at_once
        self.next = 0  # the first that has not been read
        self.read = Read([], torch.empty(0), torch.empty(0))

    @property
    def waiting(self) -> int:
        """How many have not been handed out."""
        return len(self.sources) - self.next + len(self.read.numbers)

    def take(self, most: int) -> Read:
        """At least one and at most so many sentences, if any wait."""
        if not self.read.numbers:
            self.read = self._read()
        numbers, output, mask = self.read
        self.read = Read(numbers[most:], output[most:], mask[most:])
        return Read(numbers[:most], output[:most], mask[:most])

    def _read(self) -> Read:
        numbers = list(range(self.next, min(self.next + self.at_once, len(self.sources))))
        self.next += len(numbers)
        pad_id = self.engine.config.pad_id
        src = padded([self.sources[i] for i in numbers], pad_id, self.engine.device)
        mask = padding_mask(src, pad_id)
        output = self.engine.encode(src, mask)
        if not output.isfinite().all():
            raise UserError(
                "the encoder's output is not finite: the model's weights are damaged or its "
                "training diverged; use another checkpoint"
            )
        return Read(numbers, output, mask)
