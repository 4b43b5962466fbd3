"""Beam search: the K best beginnings go on side by side (Sutskever et al. 2014, section 3.2)."""

from typing import NamedTuple, Self

import torch
from torch import Tensor

from clearhead.decoding.arrivals import Arrivals
from clearhead.decoding.finished import Finished
from clearhead.decoding.hypothesis import Hypothesis, normalize
from clearhead.decoding.next_token import ROWS_AT_ONCE, NextToken
from clearhead.decoding.slots import Slots
from clearhead.fast.block_topk import best_continuations


class Candidates(NamedTuple):
    """The 2K best continuations of every sentence, best first: (places, 2K) each."""

    scores: Tensor
    beams: Tensor  # which beam of the sentence they continue
    tokens: Tensor


class Beams(Slots):
    """The living hypotheses: K = beam_size in each place, best first.

    Before the first token all beams of a sentence would be the same: there is one of them,
    and K from then on.

    Shapes: scores (places, K) sums of log-probabilities, -inf = no hypothesis;
    ids (places, K, room); last (places · K,).
    """

    def __init__(self, model: NextToken, arrivals: Arrivals, limits: Tensor) -> None:
        super().__init__(model, arrivals, limits)
        self.K, room = model.options.beam_size, int(limits.max()) + 1  # the vacants' spot
        self.scores = torch.zeros(self.places, 1, device=limits.device)
        self.ids = limits.new_zeros(self.places, 1, room)
        self.last = limits.new_full((self.places,), model.config.bos_id)
        self.finished = Finished(self.places, room, model.options, limits)
        self.step()

    def replace(self, places: Tensor, newcomers: Self, whom: Tensor) -> None:
        """As `Slots.replace`."""
        self.scores[places], self.ids[places] = newcomers.scores[whom], newcomers.ids[whom]
        self.last.view(-1, self.K)[places] = newcomers.last.view(-1, self.K)[whom]
        self.finished.replace(places, newcomers.finished, whom)

    def select(self, places: Tensor) -> None:
        """As `Slots.select`."""
        self.scores, self.ids = self.scores[places], self.ids[places]
        self.last = self.last.view(-1, self.K)[places].flatten()
        self.finished.select(places)

    def step(self) -> None:
        """One more token in every beam."""
        found = self._candidates()
        self._collect(found)
        self._advance(found)

    def done(self) -> list[int]:
        """The places that need no further step."""
        over = self.finished.is_settled(self.scores[:, 0], self.ages, self.limits)
        return (over & self.open).nonzero().squeeze(1).tolist()

    def _candidates(self) -> Candidates:
        """A hypothesis that ends or goes on is among the 2K best: only K of them can end."""
        beams = self.scores.shape[1]
        hidden = self.model.hidden(self.last).view(self.places, beams, -1)
        size = max(1, ROWS_AT_ONCE // beams)
        every = (x.split(size) for x in (hidden, self.scores, self.ids, self.ages))
        parts = [self._continuations(*part) for part in zip(*every, strict=True)]
        return Candidates(*(torch.cat(columns) for columns in zip(*parts, strict=True)))

    def _continuations(
        self, hidden: Tensor, scores: Tensor, ids: Tensor, ages: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Of some places."""
        beams = scores.shape[1]
        gains = self.model.logits(hidden.flatten(0, 1)).log_softmax(dim=1)
        self.model.ban(gains, ids.flatten(0, 1), ages.repeat_interleave(beams))
        return best_continuations(gains.view(-1, beams, gains.shape[1]), scores, 2 * self.K)

    def _collect(self, found: Candidates) -> None:
        """Put aside the hypotheses that end here: those among the K best of their sentence."""
        scores, beams, tokens = (column[:, : self.K] for column in found)
        scores = scores.masked_fill(tokens != self.model.config.eos_id, -torch.inf)
        if (scores > -torch.inf).any():
            ids = self.ids.gather(1, beams.unsqueeze(2).expand(-1, -1, self.ids.shape[2]))
            self.finished.add(scores, self.ages + 1, ids)

    def _advance(self, found: Candidates) -> None:
        """Let the K best of those that do not end go on."""
        going_on = found.scores.masked_fill(found.tokens == self.model.config.eos_id, -torch.inf)
        self.scores, place = going_on.topk(self.K, dim=1)
        beams, tokens = found.beams.gather(1, place), found.tokens.gather(1, place)
        first = torch.arange(self.places, device=beams.device).unsqueeze(1) * self.ids.shape[1]
        self.model.decoder.reorder((first + beams).flatten())
        self.ids = self.ids.gather(1, beams.unsqueeze(2).expand(-1, -1, self.ids.shape[2]))
        ages = self.ages.view(-1, 1, 1).expand(-1, self.K, 1)
        self.ids.scatter_(2, ages, tokens.unsqueeze(2))
        self.last = tokens.flatten()
        self.ages += self.open  # the vacant write on in one spot

    def best(self, place: int) -> list[Hypothesis]:
        """The n_best of a place; where too few are finished, living ones stand behind them."""
        finished = self.finished.of(place)
        missing = self.model.options.n_best - len(finished)
        if not missing:
            return finished
        length, alpha = int(self.ages[place]), self.model.options.length_penalty
        rows = zip(self.ids[place].tolist(), self.scores[place].tolist(), strict=True)
        living = [
            Hypothesis(ids[:length], score, normalize(score, length, alpha), False)
            for ids, score in rows
            if score > -torch.inf
        ]
        return finished + living[:missing]


def beam_search(model: NextToken, arrivals: Arrivals, limits: Tensor) -> list[list[Hypothesis]]:
    """The n_best hypotheses of each sentence that arrives, `places` sentences side by side.

    A hypothesis is finished when its end sign is among the K best continuations
    of its sentence. A sentence leaves when no living hypothesis can still
    overtake its n_best finished ones, or at its length limit.

    Shape: limits: (sentences,), the most tokens of each, end sign included.
    """
    found: list[list[Hypothesis]] = [[] for _ in limits]
    beams = Beams(model, arrivals, limits)
    while beams.is_busy:
        if done := beams.done():
            for place in done:
                found[beams.numbers[place]] = beams.best(place)
            beams.vacate(done)
        else:
            beams.step()
    return found
