"""A linear model of the tokens, which the Transformer corrects."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

ALPHA = 1.0  # of ridge regression
STRENGTH = 100.0  # of logistic regression: the inverse of the L2 penalty


class PositionWeights(nn.Module):
    r"""A number for each token at each position; their sum is the score.

    .. math:: s = b + \sum_t W_{t, x_t}

    Why beside the Transformer: fitness of a few mutations is mostly additive. This part is fitted
    in closed form (ridge regression), and the Transformer learns what is left, the interactions.

    Shape:
        ids: (batch, seq_len) -> (batch, 1)
    """

    def __init__(self, seq_len: int, vocab_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(seq_len, vocab_size), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(1), requires_grad=False)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Look up, add."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        # (batch, seq_len) numbers -> (batch, 1)
        return self.weight[positions, ids].sum(dim=1, keepdim=True) + self.bias

    def fit(self, rows: NDArray[np.int64], values: Tensor) -> None:
        """Ridge regression of the values on one-hot tokens; the intercept is not shrunk."""
        columns = enumerate(rows.T)
        used = [(t, token) for t, column in columns for token in np.unique(column).tolist()]
        design = np.stack([rows[:, t] == token for t, token in used], axis=1).astype(np.float64)
        target = values.double().numpy()
        centre = design.mean(axis=0)
        centred, left = design - centre, target - target.mean()
        if len(rows) < len(used):  # solve in the smaller of the two spaces
            kernel = centred @ centred.T + ALPHA * np.eye(len(rows))
            solution = centred.T @ np.linalg.solve(kernel, left)
        else:
            gram = centred.T @ centred + ALPHA * np.eye(len(used))
            solution = np.linalg.solve(gram, centred.T @ left)
        with torch.no_grad():
            for (t, token), weight in zip(used, solution.tolist(), strict=True):
                self.weight[t, token] = weight
            self.bias.fill_(float(target.mean() - centre @ solution))


class RankWeights(nn.Module):
    r"""A number for each token and class, weighted by the token's rank; their mean is the score.

    .. math::
        s = b + \frac{1}{\sqrt{n}} \sum_{t < n} \tfrac{2}{3} \left(2 - \tfrac{t}{n}\right) W_{x_t}

    Why beside the Transformer: which genes a cell expresses most says most about its type, and a
    few hundred cells suffice to learn it.

    Shape:
        ids: (batch, seq_len), mask: (batch, 1, 1, seq_len) -> (batch, outputs)
    """

    def __init__(self, vocab_size: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(vocab_size, outputs), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(outputs), requires_grad=False)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Weigh by rank, look up, add."""
        # (batch, seq_len) -> (batch, outputs)
        ranks = weights_of_ranks(mask[:, 0, 0])
        return F.embedding_bag(ids, self.weight, mode="sum", per_sample_weights=ranks) + self.bias

    def fit(self, sequences: Sequence[Sequence[int]], classes: Tensor, balanced: bool) -> None:
        """Logistic regression with an L2 penalty; `balanced` gives each class the same weight."""
        ids = torch.tensor([token for row in sequences for token in row])
        ends = torch.tensor([0, *map(len, sequences)]).cumsum(0)
        ranks = torch.cat(
            [weights_of_ranks(torch.ones(1, len(row), dtype=torch.bool))[0] for row in sequences]
        )
        weight = torch.zeros_like(self.weight, requires_grad=True)
        bias = torch.zeros_like(self.bias, requires_grad=True)
        counts = torch.bincount(classes, minlength=len(bias)).clamp(min=1)
        of_class = len(classes) / (len(bias) * counts) if balanced else torch.ones(len(bias))
        search = torch.optim.LBFGS([weight, bias], max_iter=200, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            search.zero_grad()
            scores = bias + F.embedding_bag(
                ids, weight, ends[:-1], mode="sum", per_sample_weights=ranks
            )
            found = F.cross_entropy(scores, classes, of_class, reduction="sum") / len(classes)
            (found + weight.square().sum() / (2 * STRENGTH * len(classes))).backward()
            return found.detach() + weight.detach().square().sum() / (2 * STRENGTH * len(classes))

        search.step(loss)
        with torch.no_grad():
            self.weight.copy_(weight)
            self.bias.copy_(bias)


def weights_of_ranks(real: Tensor) -> Tensor:
    """From 4/3 (first token) to 2/3 (last), over the root of their number; 0 for padding.

    Shape:
        real: (batch, seq_len), True = no padding -> (batch, seq_len)
    """
    length = real.sum(dim=1, keepdim=True)
    ranks = torch.arange(real.shape[1], device=real.device)
    return (2 - ranks / length) * real / length.sqrt() * (2 / 3)
