r"""One token from a distribution, by one number between 0 and 1.

The probabilities lie side by side on a line from 0 to 1, in the order of their ids; the number
u is a point on it, and the token is the one that it falls on:

.. math:: \text{token} = \min \{ i : p_0 + … + p_i > u \}

So a seed is a list of points, one for each token to come, whatever the model and the other rows
do: the same seed gives the same text alone and in a batch, and a change of the logits in
their last bits changes nothing, unless a point lies within that of a border.
"""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from clearhead.decoding.sampling_options import SamplingOptions
from clearhead.decoding.warpers import warped


class Points:
    """The points of every row, each row from a seed of its own.

    Python's generator: its numbers are the same on every platform and in every version.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self.generators = [random.Random(seed) for seed in seeds]

    def next(self, device: torch.device) -> Tensor:
        """(rows, 1), float64, at least 0 and below 1."""
        points = [[generator.random()] for generator in self.generators]
        return torch.tensor(points, dtype=torch.float64, device=device)

    def keep(self, rows: Sequence[int]) -> None:
        """Only these rows go on."""
        self.generators = [self.generators[row] for row in rows]


def draw(logits: Tensor, points: Tensor) -> Tensor:
    """(rows, vocab) logits and (rows, 1) points -> (rows,) tokens."""
    borders = logits.softmax(dim=-1, dtype=torch.float64).cumsum(dim=-1)
    # The last border is 1 but for rounding; nobody lies beyond it.
    spots = torch.searchsorted(borders, points * borders[:, -1:], right=True)
    # Rounding may put a point on the last border itself: then the last token that may come.
    last = (logits > -torch.inf).cumsum(dim=-1).argmax(dim=-1, keepdim=True)
    return torch.minimum(spots, last).squeeze(1)


def sample(logits: Tensor, options: SamplingOptions, points: Tensor) -> Tensor:
    """(rows, vocab) -> (rows,): bend the logits, then draw.

    With top_k, all but the best k are left out first: what follows sorts and adds k numbers and
    not the whole vocabulary. Where more than k would stay, because some are equally likely,
    the long way is taken.
    """
    if 0 < options.top_k < logits.shape[1]:
        values, ids = logits.topk(options.top_k + 1, dim=1)
        if not (values[:, -1] == values[:, -2]).any():
            ids = ids[:, :-1].sort(dim=1).values
            chosen = draw(warped(logits.gather(1, ids), options), points)
            return ids.gather(1, chosen.unsqueeze(1)).squeeze(1)
    return draw(warped(logits, options), points)
