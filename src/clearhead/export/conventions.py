"""Weights in the conventions of other engines: norms, biases, and the vocabulary as a list.

Our norm divides by the *unbiased* standard deviation plus epsilon, other engines by the root of
the *biased* variance plus epsilon:

    alpha (x - mean) / (sigma + eps) + bias        gamma (x - mean) / sqrt(var + eps') + beta

Over n features sigma = sqrt(var n / (n - 1)), so gamma = alpha sqrt((n - 1) / n) makes both equal
except for epsilon, which is outside the root here and inside there; no weight can compensate that.
With eps' = eps² their quotient is between 1 and 1 + eps / sigma: at sigma = 1 and our eps of 1e-6
one part in a million, eight roundings of float32. Targets with a fixed epsilon describe its effect
in their module. The largest logit difference that `verify` prints includes what remains.
"""

import math
from typing import Any

import torch
from torch import Tensor

from clearhead.blocks.normalization import LayerNormalization
from clearhead.errors import UserError
from clearhead.models import Transformer
from clearhead.text import Tokenizer


def scale_and_shift(norm: Any, features: int) -> tuple[Tensor, Tensor]:
    """gamma and beta, (features,) each; a scalar alpha or bias is expanded."""
    alpha, bias = norm.alpha.detach().double(), norm.bias.detach().float()
    gamma = (alpha * math.sqrt((features - 1) / features)).float()
    return gamma.expand(features).clone(), bias.expand(features).clone()


def weight_and_bias(linear: Any) -> tuple[Tensor, Tensor]:
    """(out, in) and (out,) of a linear layer; zeros if it has no bias."""
    weight = linear.weight.detach().float()
    if linear.bias is None:
        return weight, torch.zeros(weight.shape[0])
    return weight, linear.bias.detach().float()


def epsilon(model: Transformer) -> float:
    """The epsilon of all norms.

    Raises:
        UserError: the norms have different epsilons.
    """
    found = {module.eps for module in model.modules() if isinstance(module, LayerNormalization)}
    if len(found) != 1:
        raise UserError(
            f"the norms of this model have {len(found)} epsilons {sorted(found)}, but other "
            "engines support only one; export a model with one"
        )
    return found.pop()


def vocabulary_list(tokenizer: Tokenizer, size: int) -> list[str]:
    """All tokens by id; ids of the model beyond the tokenizer's get names of their own."""
    known = [tokenizer.piece(i) for i in range(tokenizer.vocab_size)]
    return known + [f"<unused {i}>" for i in range(len(known), size)]
