"""What an engine must be able to do so that an export can be held against its original."""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

Ids = list[int]


class Engine(Protocol):
    """A foreign engine with an exported model loaded; sources are ids with their end sign."""

    def translate(self, sources: Sequence[Ids], beam_size: int, limit: int) -> list[Ids]:
        """The best translation of each, end sign left out, of at most `limit` tokens with it.

        Hypotheses are ranked by score / length, the end sign counted, and a search is over
        when `beam_size` of them are finished: `DecodingOptions(early_stopping=True)`.
        """
        ...

    def greedy_logits(self, sources: Sequence[Ids], limit: int) -> list[tuple[Ids, Tensor]]:
        """Greedy translations, with the scores of every step before the softmax.

        Shape: for each source its ids, end sign included, and (len(ids), vocab).
        """
        ...
