"""The sentences that wait to be written, longest first, read a batch at a time."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.decoding.batching import padded
from clearhead.decoding.engine import Engine
from clearhead.errors import UserError

# So many tokens are read at a time: enough for the products to run at full speed, few enough
# for what lies between two products to stay in the cache; and the fewer sentences are padded
# to one length, the less padding is computed.
CELLS = 512


class Read(NamedTuple):
    """Sentences that the encoder has seen: their numbers, its output and their mask.

    Shapes: output (sentences, src_len, d_model), mask (sentences, 1, 1, src_len).
    """

    numbers: list[int]
    output: Tensor
    mask: Tensor


class Arrivals:
    """Hands out sentences in their order, as the encoder has read them, `at_once` at a time."""

    def __init__(self, engine: Engine, sources: Sequence[Sequence[int]], at_once: int) -> None:
        self.engine, self.sources, self.at_once = engine, sources, at_once
        self.next = 0  # the first that has not been read
        self.stopped = False

    @property
    def waiting(self) -> int:
        """How many have not been read."""
        return len(self.sources) - self.next

    def stop(self) -> None:
        """Nobody will look at the result any more."""
        self.stopped = True

    def read(self) -> Read:
        """The next ones; at least one, if any wait."""
        numbers = list(range(self.next, min(self.next + self.at_once, len(self.sources))))
        self.next += len(numbers)
        sources = [self.sources[i] for i in numbers]
        mask = padding_mask(self._padded(sources), self.engine.config.pad_id)
        parts = [self._encode(part, mask.shape[3]) for part in _parts(sources)]
        output = torch.cat(parts) if len(parts) > 1 else parts[0]
        if not output.isfinite().all():
            raise UserError(
                "the encoder's output is not finite: the model's weights are damaged or its "
                "training diverged; use another checkpoint"
            )
        return Read(numbers, output, mask)

    def _encode(self, sources: Sequence[Sequence[int]], width: int) -> Tensor:
        """(sentences, width, d_model): the encoder's output, zeros behind it."""
        src = self._padded(sources)
        output = self.engine.encode(src, padding_mask(src, self.engine.config.pad_id))
        return F.pad(output, (0, 0, 0, width - src.shape[1]))

    def _padded(self, sources: Sequence[Sequence[int]]) -> Tensor:
        return padded(sources, self.engine.config.pad_id, self.engine.device)


def _parts(sources: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    """Runs of neighbours, which are of like length, of at most `CELLS` padded tokens each."""
    start = 0
    while start < len(sources):
        end = start + max(1, CELLS // len(sources[start]))
        yield sources[start:end]
        start = end
