"""The feed-forward block with another curve than the paper's."""

from torch import Tensor

from clearhead.blocks.activations import Activation
from clearhead.blocks.feed_forward import FeedForwardBlock


class ActivatedFeedForwardBlock(FeedForwardBlock):
    r"""`FeedForwardBlock` with a curve of your choice where the paper has :math:`\max(0, x)`.

    .. math:: \text{FFN}(x) = f(x W_1 + b_1) W_2 + b_2

    Shape:
        x: (batch, seq_len, d_model) -> (batch, seq_len, d_ff) -> (batch, seq_len, d_model)
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float, activation: Activation) -> None:
        super().__init__(d_model, d_ff, dropout)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """Widen, bend, narrow."""
        return self.linear_2(self.dropout(self.activation(self.linear_1(x))))

    def extra_repr(self) -> str:
        """The curve, for `print`."""
        return f"activation={self.activation.__name__}"
