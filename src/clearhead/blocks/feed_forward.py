"""The small network that every position passes alone (paper, section 3.3)."""

import torch
from torch import Tensor, nn


class FeedForwardBlock(nn.Module):
    r"""Widen, keep what is positive, narrow again.

    .. math:: \text{FFN}(x) = \max(0, x W_1 + b_1) W_2 + b_2 \qquad (2)

    Why: attention only mixes values between positions, linearly; here each
    position thinks about what it has gathered. Two thirds of the model's
    weights outside the vocabulary stand in these two matrices.

    Shape:
        x: (batch, seq_len, d_model) -> (batch, seq_len, d_ff) -> (batch, seq_len, d_model)
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)  # W1 and b1
        self.dropout = nn.Dropout(dropout)
        self.linear_2 = nn.Linear(d_ff, d_model)  # W2 and b2

    def forward(self, x: Tensor) -> Tensor:
        """Equation 2."""
        return self.linear_2(self.dropout(torch.relu(self.linear_1(x))))
