r"""The likeliest word in full precision at the price of 8 bits: look coarsely, then closely.

Greedy search asks only which of the vocabulary's logits is the largest. `Int8Linear`
gives all of them approximately, four times faster, with a known error: for
rounded inputs x̂ and weights ŵ

.. math:: |x \cdot w_j - \hat x \cdot \hat w_j| = |x \cdot (w_j - \hat w_j)
          + (x - \hat x) \cdot \hat w_j|
          \le \|x\| \max_j \|w_j - \hat w_j\| + \|x - \hat x\| \max_j \|\hat w_j\| = E

(Cauchy–Schwarz). So compute the logits of the `CANDIDATES` best exactly. Every
other logit is at most E above the last candidate's approximate one; if the best
exact logit is at least that, it is the largest of all: proved, row by row. Where
the proof fails, which takes that many words of nearly one probability, all
logits are computed in full.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.fast.block_topk import BLOCK, best, best_continuations
from clearhead.fast.int8_linear import Int8Linear, rounded_to_8_bits
from clearhead.fast.packed_linear import Product

CANDIDATES = 8
Ban = Callable[[Tensor], None]


class ScreenedArgmax:
    """(rows, d_model) -> (rows,) the index of the largest logit; `exactly` gives all logits."""

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        exactly: Product,
        candidates: int = CANDIDATES,
    ) -> None:
        self.weight, self.exactly, self.candidates = weight.detach(), exactly, candidates
        self.bias = weight.new_zeros(weight.shape[0]) if bias is None else bias.detach()
        # Whole blocks of words (`block_topk`); those that there are not can never be chosen.
        filling = -weight.shape[0] % BLOCK
        filled = F.pad(self.bias, (0, filling), value=-torch.inf)
        self.roughly = Int8Linear(F.pad(self.weight, (0, 0, 0, filling)), filled)
        rounded = restored(*rounded_to_8_bits(self.weight))
        self.weight_error = (self.weight - rounded).norm(dim=1).max()
        self.longest = rounded.norm(dim=1).max()
        self.rows = self.proved = 0  # how often the proof held, for whoever wants to know

    def __call__(self, x: Tensor, ban: Ban) -> Tensor:
        """`ban` sets logits of what must not be chosen to -inf, in place."""
        rough = self.roughly(x)
        ban(rough)
        nothing = rough.new_zeros(rough.shape[0], 1)
        guesses, _, words = best_continuations(rough.unsqueeze(1), nothing, self.candidates)
        words = words.clamp_(max=len(self.weight) - 1)  # where fewer than the candidates may be
        weights = self.weight.index_select(0, words.flatten()).view(*words.shape, -1)
        # (rows, candidates, d_model) @ (rows, d_model, 1)
        exact = torch.bmm(weights, x.unsqueeze(2)).squeeze(2) + self.bias[words]
        exact.masked_fill_(guesses == -torch.inf, -torch.inf)
        value, place = exact.max(dim=1)
        proved = value >= guesses[:, -1] + self._error(x)
        self.rows, self.proved = self.rows + len(x), self.proved + int(proved.sum())
        chosen = words.gather(1, place.unsqueeze(1)).squeeze(1)
        if not proved.all():
            rows = (~proved).nonzero().squeeze(1)
            banned = rough[rows, : len(self.weight)] == -torch.inf
            chosen[rows] = best(self.exactly(x[rows]).masked_fill_(banned, -torch.inf))[1]
        return chosen

    def _error(self, x: Tensor) -> Tensor:
        """E of every row."""
        error = (x - restored(*rounded_to_8_bits(x))).norm(dim=1)
        return x.norm(dim=1) * self.weight_error + error * self.longest


def restored(integers: Tensor, largest: Tensor) -> Tensor:
    """What the integers of `rounded_to_8_bits` stand for."""
    return integers * (largest / 127)
