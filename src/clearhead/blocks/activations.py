"""The curve between the two matrices of a feed-forward block, by the names that models give it."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

Activation = Callable[[Tensor], Tensor]


def gelu(x: Tensor) -> Tensor:
    r"""Each number times the share of a normal distribution that lies below it.

    .. math:: x \, \Phi(x) = \tfrac{x}{2} \left(1 + \text{erf}(x / \sqrt{2})\right)

    Why: a relu with a soft knee; small negative numbers still pass a gradient
    (Hendrycks and Gimpel 2016). In BERT and ESM-2.
    """
    return F.gelu(x)


def tanh_gelu(x: Tensor) -> Tensor:
    r"""The approximation of `gelu` that GPT-2 was trained with.

    .. math:: \tfrac{x}{2} \left(1 + \tanh(\sqrt{2 / \pi} \, (x + 0.044715 \, x^3))\right)

    It is off by up to 5e-4, so weights trained with it want it, not the better one.
    """
    return F.gelu(x, approximate="tanh")


def swish(x: Tensor) -> Tensor:
    r"""Each number times its own sigmoid (Ramachandran et al. 2017). In Marian.

    .. math:: x \, \sigma(x) = x / (1 + e^{-x})
    """
    return F.silu(x)


# As config.json files name them.
ACTIVATIONS: dict[str, Activation] = {
    "relu": torch.relu,
    "gelu": gelu,
    "gelu_new": tanh_gelu,
    "gelu_pytorch_tanh": tanh_gelu,
    "silu": swish,
    "swish": swish,
}
