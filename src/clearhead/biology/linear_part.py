"""A linear model of the tokens, which the Transformer corrects."""

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

ALPHA = 1.0  # of ridge regression
STRENGTH = 0.3  # of logistic regression: the inverse of the L2 penalty


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


class PairWeights(nn.Module):
    r"""A number for each pair of neighbouring tokens, position and class; their sum is the score.

    .. math:: s = b + \sum_t W_{t, x_t, x_{t+1}}

    Why beside the Transformer: a splice site is a few fixed positions, and a position weight
    matrix of pairs recognises most of them. It is fitted first (logistic regression) and the
    Transformer is trained apart from it: what the regression leaves of training sequences is
    nearly nothing. Their scores are added, the regression's with a weight fitted on held-out
    records.

    Shape:
        ids: (batch, seq_len), mask: unused -> (batch, outputs)
    """

    def __init__(self, seq_len: int, vocab_size: int, outputs: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        zeros = torch.zeros((seq_len - 1) * vocab_size**2, outputs)
        self.weight = nn.Parameter(zeros, requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(outputs), requires_grad=False)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Number the pairs, look up, add."""
        # (batch, seq_len - 1, outputs) -> (batch, outputs)
        return F.embedding(self.pairs(ids), self.weight).sum(dim=1) + self.bias

    def pairs(self, ids: Tensor) -> Tensor:
        """The row of each pair in the matrix: (batch, seq_len) -> (batch, seq_len - 1)."""
        positions = torch.arange(ids.shape[1] - 1, device=ids.device)
        return (positions * self.vocab_size + ids[:, :-1]) * self.vocab_size + ids[:, 1:]

    def fit(self, rows: NDArray[np.int64], classes: Tensor) -> None:
        """Logistic regression with an L2 penalty; the intercept is not shrunk."""
        ids = torch.from_numpy(rows)
        used, columns = self.pairs(ids).unique(return_inverse=True)
        weight = torch.zeros(len(used), len(self.bias), requires_grad=True)
        bias = torch.zeros(len(self.bias), requires_grad=True)
        search = torch.optim.LBFGS([weight, bias], max_iter=100, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            search.zero_grad()
            scores = F.embedding(columns, weight).sum(dim=1) + bias
            penalty = weight.square().sum() / (2 * STRENGTH * len(ids))
            found = F.cross_entropy(scores, classes) + penalty
            found.backward()
            return found.detach()

        search.step(loss)
        self.weight[used], self.bias[:] = weight.detach(), bias.detach()


class RankWeights(nn.Module):
    r"""A number for each token and class, weighted by the token's rank; their mean is the score.

    .. math::
        s = b + \frac{1}{\sqrt{n}} \sum_{t < n} \left(\tfrac{3}{2} - \tfrac{t}{n}\right) W_{x_t}

    Why beside the Transformer: which genes a cell expresses most says most about its type, and a
    few hundred cells suffice to learn it.

    Shape:
        ids: (batch, seq_len), mask: (batch, 1, 1, seq_len) -> (batch, outputs)
    """

    def __init__(self, vocab_size: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab_size, outputs)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.dropout = nn.Dropout(dropout)
        nn.init.zeros_(self.table.weight)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Weigh by rank, look up, add."""
        real = mask[:, 0, 0]  # (batch, seq_len)
        length = real.sum(dim=1, keepdim=True)
        ranks = torch.arange(ids.shape[1], device=ids.device)
        weights = self.dropout((1.5 - ranks / length) * real)  # (batch, seq_len)
        # (batch, seq_len) and (batch, seq_len, outputs) -> (batch, outputs)
        found = torch.einsum("bt,bto->bo", weights, self.table(ids).float())
        return found / length.sqrt() + self.bias
