"""Greedy search: always the likeliest next token."""

import math
from typing import Self

import torch
from torch import Tensor

from clearhead.decoding.arrivals import Arrivals
from clearhead.decoding.hypothesis import Hypothesis, normalize
from clearhead.decoding.next_token import ROWS_AT_ONCE, NextToken
from clearhead.decoding.slots import Slots
from clearhead.fast.block_topk import best


class Greedy(Slots):
    """What is written in every place: ids (places, room), scores and last ids (places,)."""

    def __init__(self, model: NextToken, arrivals: Arrivals, limits: Tensor) -> None:
        super().__init__(model, arrivals, limits)
        self.ids = limits.new_zeros(self.places, int(limits.max()) + 1)  # and the vacants' spot
        self.scores = torch.zeros(self.places, device=limits.device)
        self.last = limits.new_full((self.places,), model.config.bos_id)

    def replace(self, places: Tensor, newcomers: Self, whom: Tensor) -> None:
        """As `Slots.replace`."""
        self.scores[places], self.last[places] = newcomers.scores[whom], newcomers.last[whom]

    def select(self, places: Tensor) -> None:
        """As `Slots.select`."""
        self.ids, self.scores, self.last = self.ids[places], self.scores[places], self.last[places]

    def step(self) -> list[int]:
        """One more token in every place; returns the places that are done with it."""
        self.last, gain = choose(self.model, self.last, self.ids, self.ages)
        self.scores += gain
        self.ids.scatter_(1, self.ages.unsqueeze(1), self.last.unsqueeze(1))
        self.ages += self.open  # the vacant write on in one spot
        over = (self.last == self.model.config.eos_id) | (self.ages == self.limits)
        return (over & self.open).nonzero().squeeze(1).tolist()

    def written(self, places: list[int]) -> list[Hypothesis]:
        """What stands in these places."""
        rows = zip(
            self.ids[places].tolist(),
            self.ages[places].tolist(),
            self.scores[places].tolist(),
            strict=True,
        )
        return [_hypothesis(self.model, ids[:end], score) for ids, end, score in rows]


def greedy_search(model: NextToken, arrivals: Arrivals, limits: Tensor) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence that arrives, `places` of them side by side.

    Shape: limits: (sentences,), the most tokens of each, end sign included.
    """
    found: list[list[Hypothesis]] = [[] for _ in limits]
    greedy = Greedy(model, arrivals, limits)
    while greedy.is_busy:
        if done := greedy.step():
            for place, hypothesis in zip(done, greedy.written(done), strict=True):
                found[greedy.numbers[place]] = [hypothesis]
            greedy.vacate(done)
    return found


def choose(model: NextToken, last: Tensor, history: Tensor, ages: Tensor) -> tuple[Tensor, Tensor]:
    """The likeliest next token of each row, and its log-probability (NaN if not asked for)."""
    every = (x.split(ROWS_AT_ONCE) for x in (model.hidden(last), history, ages))
    parts = [_likeliest(model, *part) for part in zip(*every, strict=True)]
    tokens, gains = zip(*parts, strict=True)
    return torch.cat(tokens), torch.cat(gains)


def _likeliest(
    model: NextToken, hidden: Tensor, history: Tensor, ages: Tensor
) -> tuple[Tensor, Tensor]:
    logits = model.logits(hidden)
    total = logits.logsumexp(dim=1) if model.options.scores else math.nan
    model.ban(logits, history, ages)
    value, token = best(logits)
    return token, value - total


def _hypothesis(model: NextToken, ids: list[int], score: float) -> Hypothesis:
    finished = ids[-1] == model.config.eos_id
    normalized = normalize(score, len(ids), model.options.length_penalty)
    return Hypothesis(ids[:-1] if finished else ids, score, normalized, finished)
