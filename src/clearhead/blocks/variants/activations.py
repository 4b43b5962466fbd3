"""Activation functions of other models, and the feed-forward block that uses them."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.blocks.checks import check_features
from clearhead.blocks.feed_forward import FeedForwardBlock

Activation = Callable[[Tensor], Tensor]


def gelu(x: Tensor) -> Tensor:
    r"""The Gaussian error linear unit of BERT and ESM-2 (Hendrycks and Gimpel 2016).

    .. math:: x \, \Phi(x) = \tfrac{x}{2} \left(1 + \text{erf}(x / \sqrt{2})\right)

    A smooth ReLU: small negative inputs still pass a gradient.
    """
    return F.gelu(x)


def tanh_gelu(x: Tensor) -> Tensor:
    r"""The approximation of `gelu` with which GPT-2 was trained.

    .. math:: \tfrac{x}{2} \left(1 + \tanh(\sqrt{2 / \pi} \, (x + 0.044715 \, x^3))\right)

    It differs from `gelu` by up to 5e-4, so weights trained with it need it.
    """
    return F.gelu(x, approximate="tanh")


def swish(x: Tensor) -> Tensor:
    r"""The input times its sigmoid, also called SiLU; in Marian (Ramachandran et al. 2017).

    .. math:: x \, \sigma(x) = x / (1 + e^{-x})
    """
    return F.silu(x)


# The names that config.json files use.
ACTIVATIONS: dict[str, Activation] = {
    "relu": torch.relu,
    "gelu": gelu,
    "gelu_new": tanh_gelu,
    "gelu_pytorch_tanh": tanh_gelu,
    "silu": swish,
    "swish": swish,
}


class ActivatedFeedForwardBlock(FeedForwardBlock):
    r"""`FeedForwardBlock` with another activation function f in place of :math:`\max(0, x)`.

    .. math:: \text{FFN}(x) = f(x W_1 + b_1) W_2 + b_2

    Shape:
        x: (batch, seq_len, d_model) -> (batch, seq_len, d_ff) -> (batch, seq_len, d_model)
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float, activation: Activation) -> None:
        super().__init__(d_model, d_ff, dropout)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """First matrix, activation function, second matrix."""
        check_features("x", x, self.linear_1.in_features)
        return self.linear_2(self.dropout(self.activation(self.linear_1(x))))

    def extra_repr(self) -> str:
        """The activation function, for `print`."""
        return f"activation={getattr(self.activation, '__name__', self.activation)}"
