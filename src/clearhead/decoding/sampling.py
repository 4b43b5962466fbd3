r"""The next token, drawn from a distribution by one number between 0 and 1.

The filters reshape the distribution first. Each takes logits and returns logits, as the
processors of the same names in `transformers` do; `warped` applies them in the same order. A
token that is excluded has the logit :math:`-\infty`.

Then the probabilities are laid on a line from 0 to 1, in the order of their ids. A number u is a
point on the line, and the token is the one whose segment contains it:

.. math:: \text{token} = \min \{ i : p_0 + … + p_i > u \}

So a seed is a list of points, one for each token, whatever the model and the other rows are: the
same seed gives the same text alone and in a batch, and a change of the logits in their last bits
changes nothing unless a point lies within that distance of a border.

Shape:
    logits: (rows, vocab) -> (rows, vocab)
"""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from clearhead.decoding.engine import SamplingOptions


def repetition_penalty(logits: Tensor, seen: Tensor, penalty: float) -> Tensor:
    r"""Tokens that the text already contains become less probable (after Keskar et al. 2019).

    .. math:: z_i / \theta \text{ if } z_i > 0 \text{ else } z_i \, \theta

    for every token of the prompt or of what was written. Keskar et al. always divide; the product
    for negative logits is that of `transformers`. `seen`: (rows, vocab), True = contained.
    """
    penalized = torch.where(logits < 0, logits * penalty, logits / penalty)
    return torch.where(seen, penalized, logits)


def temperature(logits: Tensor, t: float) -> Tensor:
    r"""Below 1 the distribution becomes sharper, above 1 flatter: :math:`z / t`."""
    return logits / t


def top_k(logits: Tensor, k: int) -> Tensor:
    """Only the k most probable tokens, and those that equal the last of them (Fan et al. 2018)."""
    least = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < least, -torch.inf)


def top_p(logits: Tensor, p: float) -> Tensor:
    r"""The smallest set of most probable tokens that reaches p (Holtzman et al. 2019).

    From the least probable on, tokens are excluded as long as together they have at most
    :math:`1 - p`; the most probable one stays.
    """
    ascending, order = logits.sort(dim=-1, descending=False)
    excluded = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - p
    excluded[..., -1] = False
    return logits.masked_fill(excluded.scatter(-1, order, excluded), -torch.inf)


def min_p(logits: Tensor, p: float) -> Tensor:
    """Only tokens at least p times as probable as the most probable (Nguyen et al. 2024)."""
    probabilities = logits.softmax(dim=-1)
    best = probabilities.amax(dim=-1, keepdim=True)
    # The best is never below itself, for p is at most 1.
    return logits.masked_fill(probabilities < p * best, -torch.inf)


def warped(logits: Tensor, options: SamplingOptions) -> Tensor:
    """All filters that are on, except the repetition penalty, which is applied before them."""
    logits = temperature(logits, options.temperature) if options.temperature != 1 else logits
    logits = top_k(logits, options.top_k) if options.top_k else logits
    logits = top_p(logits, options.top_p) if options.top_p < 1 else logits
    return min_p(logits, options.min_p) if options.min_p else logits


class Points:
    """The points of several texts, each text with a seed of its own.

    Python's generator: its numbers are the same on every platform and in every version.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self.generators = [random.Random(seed) for seed in seeds]

    def next(self, texts: Sequence[int], device: torch.device) -> Tensor:
        """The next point of each of these texts: (texts, 1), float64, from 0 to below 1."""
        points = [[self.generators[text].random()] for text in texts]
        return torch.tensor(points, dtype=torch.float64, device=device)


def draw(logits: Tensor, points: Tensor) -> Tensor:
    """(rows, vocab) logits and (rows, 1) points -> (rows,) tokens."""
    borders = logits.softmax(dim=-1, dtype=torch.float64).cumsum(dim=-1)
    # The last border is 1 except for rounding; no point lies beyond it.
    found = torch.searchsorted(borders, points * borders[:, -1:], right=True)
    # Rounding may put a point on the last border itself: then it is the last possible token.
    last = (logits > -torch.inf).cumsum(dim=-1).argmax(dim=-1, keepdim=True)
    return torch.minimum(found, last).squeeze(1)


def sample(logits: Tensor, options: SamplingOptions, points: Tensor) -> Tensor:
    """(rows, vocab) -> (rows,): apply the filters, then draw.

    With top_k, all tokens but the best k are left out first, so that the rest sorts and adds k
    elements instead of the whole vocabulary. If ties would keep more than k, or leave it to the
    sort of top_p which of them stays, the whole vocabulary is used.
    """
    if 0 < options.top_k < logits.shape[1]:
        values, ids = logits.topk(options.top_k + 1, dim=1)
        ties = values[:, 1:] == values[:, :-1]
        if not (ties if options.top_p < 1 else ties[:, -1]).any():
            ids = ids[:, :-1].sort(dim=1).values
            chosen = draw(warped(logits.gather(1, ids), options), points)
            return ids.gather(1, chosen.unsqueeze(1)).squeeze(1)
    return draw(warped(logits, options), points)
