"""How BERT and GPT-2 begin: small normal numbers, no biases (GPT-2 paper, section 2.3)."""

import math

from torch import nn


def initialize_normal(model: nn.Module, std: float) -> None:
    """N(0, std²) for matrices and tables, 0 for their biases; norms stay the identity."""
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=std)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


def shrink_what_is_added(model: nn.Module, std: float, layers: int) -> None:
    """Matrices that write into the sum begin smaller by the root of their number, 2 · layers.

    So the never-normalised sum of pre-norm does not grow with the depth.
    """
    for name, parameter in model.named_parameters():
        if name.endswith(("w_o.weight", "linear_2.weight")):
            nn.init.normal_(parameter, std=std / math.sqrt(2 * layers))
