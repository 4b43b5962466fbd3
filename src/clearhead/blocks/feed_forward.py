"""The position-wise feed-forward network (paper, section 3.3)."""

import torch
from torch import Tensor, nn

from clearhead.blocks.checks import check_features


class FeedForwardBlock(nn.Module):
    r"""Two linear layers with a ReLU between them, applied to each position separately.

    .. math:: \text{FFN}(x) = \max(0, x W_1 + b_1) W_2 + b_2 \qquad (2)

    For given weights, attention only averages the values, which is linear; this network adds
    the nonlinear computation at each position. With d_ff = 4 d_model it holds two thirds of
    an encoder block's parameters.

    Shape:
        x: (batch, seq_len, d_model) -> (batch, seq_len, d_ff) -> (batch, seq_len, d_model)

    Raises:
        UserError: the last dimension of x is not d_model.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)  # W1 and b1
        self.dropout = nn.Dropout(dropout)
        self.linear_2 = nn.Linear(d_ff, d_model)  # W2 and b2

    def forward(self, x: Tensor) -> Tensor:
        """Equation 2."""
        check_features("x", x, self.linear_1.in_features)
        return self.linear_2(self.dropout(torch.relu(self.linear_1(x))))
