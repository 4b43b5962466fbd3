"""What another engine's layer normalisation must hold to say what ours says.

Ours divides by the *unbiased* deviation plus epsilon, theirs by the root of the *biased*
variance plus epsilon:

    alpha (x - mean) / (sigma + eps) + bias        gamma (x - mean) / sqrt(var + eps') + beta

Over n features sigma = sqrt(var n / (n - 1)). So gamma = alpha sqrt((n - 1) / n) makes the
two equal but for epsilon, which stands outside the root here and inside there: no weight
can take that up. With eps' = eps² the quotient of the two lies between 1 and 1 + eps / sigma:
at sigma = 1 and our eps of 1e-6 one part in a million, eight roundings of float32. Where a
target has an epsilon of its own, its file says what is done about it. The largest logit
difference that `verify` prints contains what remains.
"""

import math
from typing import Any

import torch
from torch import Tensor

from clearhead.blocks.normalization import LayerNormalization
from clearhead.errors import UserError
from clearhead.models import Transformer


def scale_and_shift(norm: Any, features: int) -> tuple[Tensor, Tensor]:
    """gamma and beta, (features,) each, also of a norm with one alpha and one bias in all."""
    alpha, bias = norm.alpha.detach().double(), norm.bias.detach().float()
    gamma = (alpha * math.sqrt((features - 1) / features)).float()
    return gamma.expand(features).clone(), bias.expand(features).clone()


def weight_and_bias(linear: Any) -> tuple[Tensor, Tensor]:
    """(out, in) and (out,) of a linear layer; zeros where it has no bias."""
    weight = linear.weight.detach().float()
    if linear.bias is None:
        return weight, torch.zeros(weight.shape[0])
    return weight, linear.bias.detach().float()


def epsilon(model: Transformer) -> float:
    """The one epsilon of all norms.

    Raises:
        UserError: the model has several.
    """
    found = {module.eps for module in model.modules() if isinstance(module, LayerNormalization)}
    if len(found) != 1:
        raise UserError(
            f"the norms of this model have {len(found)} epsilons {sorted(found)}, and another "
            "engine knows one for all; export a model with one"
        )
    return found.pop()
