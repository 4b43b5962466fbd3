"""From hidden states to an answer: for a whole sequence, an aligned one, or each position."""

import torch
from torch import Tensor, nn


class PooledHead(nn.Module):
    r"""Scores of a sequence of any length: a weighted mean and a maximum over its positions.

    .. math:: s = W \Bigl[\sum_t a_t x_t ;\ \max_t x_t\Bigr] + b, \qquad a = \text{softmax}(X w)

    Why not the first token's vector: w can point at the few positions that matter, and the
    maximum of a feature says whether its motif occurs anywhere.

    Shape:
        x: (batch, seq_len, d_model), mask: (batch, 1, 1, seq_len) -> (batch, outputs)
    """

    def __init__(self, d_model: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.weight = nn.Linear(d_model, 1)
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(2 * d_model, outputs)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Weigh the positions, average, take the maximum of each feature, project."""
        padding, lowest = ~mask[:, 0, 0], torch.finfo(x.dtype).min
        weights = self.weight(x)[..., 0].masked_fill(padding, lowest).softmax(dim=-1)
        # (batch, seq_len) and (batch, seq_len, d_model) -> (batch, d_model)
        mean = torch.einsum("bt,btd->bd", weights, x)
        most = x.masked_fill(padding.unsqueeze(-1), lowest).amax(dim=1)
        return self.linear(self.dropout(torch.cat([mean, most], dim=-1)))


class AlignedHead(nn.Module):
    r"""Scores of aligned sequences: every position has weights of its own.

    .. math:: s = b + \frac{1}{\sqrt{n}} \sum_{t \le n} W_t x_t

    It is a position weight matrix over contextual vectors instead of letters. Why the root: Adam
    moves every weight by the same amount, and without it a step would change the sum n times as
    much as the output of a pooled head.

    Shape:
        x: (batch, seq_len, d_model), mask: unused -> (batch, outputs)
    """

    def __init__(self, d_model: int, seq_len: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.scale = seq_len**-0.5
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(seq_len * d_model, outputs)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Lay the positions one after the other, project."""
        # (batch, seq_len, d_model) -> (batch, seq_len * d_model)
        return self.linear(self.dropout(x.flatten(1) * self.scale))


class TokenHead(nn.Module):
    """Scores of each position.

    Shape:
        x: (batch, seq_len, d_model), mask: unused -> (batch, seq_len, outputs)
    """

    def __init__(self, d_model: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(d_model, outputs)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Project every position."""
        return self.linear(self.dropout(x))
