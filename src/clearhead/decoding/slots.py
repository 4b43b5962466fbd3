"""Continuous batching: the place of a finished sentence goes to the next one that waits.

A batch is finished when its longest translation is, and until then ever more of
its rows would be computed for nothing, or ever fewer rows share the weights that
each step has to fetch. So finished sentences leave, a few at a time; while others
wait these take their places, and after that the batch shrinks.
"""

from abc import ABC, abstractmethod
from typing import Self, cast

import torch
from torch import Tensor

from clearhead.decoding.arrivals import Arrivals
from clearhead.decoding.engine import ReplacingDecoder
from clearhead.decoding.next_token import NextToken

# Leaving and arriving copy what the decoder remembers, so it happens when this
# share of the places is vacant.
CHANGING = 0.125
LEAVING = 0.25


class Slots(ABC):
    """Which sentence is written in which place, and how far it is.

    A search keeps more about every place (`replace` and `select` below).

    Shapes: ages, limits, open: (places,) tokens written, most tokens, whether it still writes.
    """

    def __init__(self, model: NextToken, arrivals: Arrivals, limits: Tensor) -> None:
        self.model, self.arrivals, self.all_limits = model, arrivals, limits
        numbers, output, mask = arrivals.read()
        model.decoder.start(output, mask)
        self.numbers = numbers
        self.newcomers: Self | None = None  # a search of those who come in next,
        self.next = 0  # and the first place of it from which nobody has come
        self.vacant: list[int] = []
        device = limits.device
        self.ages = torch.zeros(len(numbers), dtype=torch.long, device=device)
        self.open = torch.ones(len(numbers), dtype=torch.bool, device=device)
        self.limits = limits[torch.tensor(numbers, device=device)]

    @property
    def places(self) -> int:
        """How many there are, vacant ones included."""
        return len(self.numbers)

    @property
    def is_busy(self) -> bool:
        """Whether anybody still writes, for somebody who waits for it."""
        return len(self.vacant) < self.places and not self.arrivals.stopped

    @abstractmethod
    def replace(self, places: Tensor, newcomers: Self, whom: Tensor) -> None:
        """Those who stand in the places `whom` of another search go on in these places."""

    @abstractmethod
    def select(self, places: Tensor) -> None:
        """Only these places are left."""

    def vacate(self, places: list[int]) -> None:
        """The sentences in these places are done."""
        self.vacant.extend(places)
        self.open[places] = False
        self.model.decoder.retire(places)
        if self._waiting():
            while self._waiting() and len(self.vacant) >= CHANGING * self.places:
                self._refill()
        elif self.is_busy and len(self.vacant) >= LEAVING * self.places:
            self._shrink()

    def _waiting(self) -> int:
        begun = self.newcomers.places - self.next if self.newcomers else 0
        return begun + self.arrivals.waiting

    def _coming(self) -> Self:
        """Those who wait begin together, in a search of their own, from which they come in."""
        if self.newcomers is None or self.next == self.newcomers.places:
            model = NextToken(self.model.engine, self.model.options)
            self.newcomers, self.next = type(self)(model, self.arrivals, self.all_limits), 0
        return self.newcomers

    def _refill(self) -> None:
        """As many newcomers come in as there are places and newcomers."""
        coming = self._coming()
        numbers = coming.numbers[self.next :][: len(self.vacant)]
        places, self.vacant = self.vacant[: len(numbers)], self.vacant[len(numbers) :]
        for place, number in zip(places, numbers, strict=True):
            self.numbers[place] = number
        here = torch.tensor(places, device=self.ages.device)
        whom = torch.arange(self.next, self.next + len(numbers), device=here.device)
        self.next += len(numbers)
        cast(ReplacingDecoder, self.model.decoder).replace(here, coming.model.decoder, whom)
        self.ages[here], self.limits[here] = coming.ages[whom], coming.limits[whom]
        self.open[here] = True
        self.replace(here, coming, whom)

    def _shrink(self) -> None:
        here = self.open.nonzero().squeeze(1)
        self.numbers = [self.numbers[place] for place in here.tolist()]
        self.vacant = []
        self.ages, self.limits, self.open = self.ages[here], self.limits[here], self.open[here]
        self.model.decoder.keep(here)
        self.select(here)
