"""The finished hypotheses of a beam search, and when a sentence needs no more of them."""

from typing import Self

import torch
from torch import Tensor

from clearhead.decoding.hypothesis import Hypothesis
from clearhead.decoding.options import DecodingOptions


class Finished:
    """The n_best of every place, best first.

    Shapes: normalized, scores, lengths: (places, n_best), -inf = none yet; ids (places,
    n_best, room); count (places,), ever finished, those forgotten again included.
    """

    def __init__(self, places: int, room: int, options: DecodingOptions, like: Tensor) -> None:
        shape = (places, options.n_best)
        self.options = options
        self.normalized = like.new_full(shape, -torch.inf, dtype=torch.double)
        self.scores = like.new_zeros(shape, dtype=torch.float)
        self.lengths = like.new_zeros(shape)  # end sign included
        self.ids = like.new_zeros(*shape, room)
        self.count = like.new_zeros(places)

    def replace(self, places: Tensor, others: Self, whom: Tensor) -> None:
        """In these places stand those of the places `whom` of others."""
        self.normalized[places], self.scores[places] = others.normalized[whom], others.scores[whom]
        self.lengths[places], self.ids[places] = others.lengths[whom], others.ids[whom]
        self.count[places] = others.count[whom]

    def select(self, places: Tensor) -> None:
        """Only these places are left."""
        self.normalized, self.scores = self.normalized[places], self.scores[places]
        self.lengths, self.ids = self.lengths[places], self.ids[places]
        self.count = self.count[places]

    def add(self, scores: Tensor, lengths: Tensor, ids: Tensor) -> None:
        """Take hypotheses in; the worst beyond n_best are forgotten.

        Shape: scores (places, new) with -inf = none, lengths (places,), ids (places, new, room).
        """
        alpha = self.options.length_penalty
        normalized = scores.double() / lengths.double().pow(alpha).unsqueeze(1)
        self.count += (scores > -torch.inf).sum(dim=1)
        ranked = torch.cat([self.normalized, normalized], dim=1)
        self.normalized, order = ranked.topk(self.options.n_best, dim=1)
        self.scores = torch.cat([self.scores, scores], dim=1).gather(1, order)
        lengths = torch.cat([self.lengths, lengths.unsqueeze(1).expand_as(scores)], dim=1)
        self.lengths = lengths.gather(1, order)
        order = order.unsqueeze(2).expand(-1, -1, ids.shape[2])
        self.ids = torch.cat([self.ids, ids], dim=1).gather(1, order)

    def is_settled(self, best_living: Tensor, ages: Tensor, limits: Tensor) -> Tensor:
        r"""Which places need no further step; best_living: (places,) scores of the best beams.

        Exact. A score can only fall, for log-probabilities are not positive; so a
        living hypothesis of score s and length t that ends at a length n, t < n <= limit,
        reaches at most

        .. math:: \max_{t < n \le \text{limit}} s / n^\alpha = s / \text{limit}^\alpha
                  \quad (\alpha \ge 0), \qquad s / (t + 1)^\alpha \quad (\alpha < 0)

        which is attained if all that follows is certain: no rule that knows only s, t
        and the limit stops earlier. The sentence is settled when its n_best finished
        ones are at least as good. With `early_stopping` it is over as well when
        beam_size hypotheses are finished, as in Transformers and CTranslate2.
        """
        alpha = self.options.length_penalty
        favourable = limits if alpha >= 0 else ages + 1
        reachable = best_living.double() / favourable.double().pow(alpha)
        over = (self.normalized[:, -1] >= reachable) | (ages >= limits)
        if self.options.early_stopping:
            over |= self.count >= self.options.beam_size
        return over | (best_living == -torch.inf)

    def of(self, place: int) -> list[Hypothesis]:
        """The finished hypotheses of a place, best first."""
        rows = zip(
            self.ids[place].tolist(),
            self.lengths[place].tolist(),
            self.scores[place].tolist(),
            self.normalized[place].tolist(),
            strict=True,
        )
        return [
            Hypothesis(ids[: length - 1], score, normalized, True)
            for ids, length, score, normalized in rows
            if normalized > -torch.inf
        ]
