"""Weights in the conventions of other engines: norms, biases, order of features, vocabulary.

Our norm divides by the *unbiased* standard deviation plus epsilon, other engines by the root of
the *biased* variance plus epsilon:

    alpha (x - mean) / (sigma + eps) + bias        gamma (x - mean) / sqrt(var + eps') + beta

Over n features sigma = sqrt(var n / (n - 1)), so gamma = alpha sqrt((n - 1) / n) makes both equal
except for epsilon, which is outside the root here and inside there; no weight can compensate that.
With eps' = eps² their quotient is between 1 and 1 + eps / sigma: at sigma = 1 and our eps of 1e-6
one part in a million, eight roundings of float32. Targets with a fixed epsilon describe its effect
in their module. The largest logit difference that `verify` prints includes what remains.

For `transformers` the features are in another order, too: its sinusoids have all sines before all
cosines, ours alternate. The order of the d_model features is arbitrary as long as all weights use
the same, so every matrix is permuted along the axis on which it reads or writes them.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from clearhead.blocks.normalization import LayerNormalization
from clearhead.errors import UserError
from clearhead.models import Transformer
from clearhead.pretrained.marian import LINEARS, NORMS
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


_WRITERS = ("out_proj", "fc2")  # their output is added to the residual stream


def transformers_weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """The state dictionary of `transformers`, in its order of features."""
    config, order = model.config, order_of(model.config.d_model)
    embeddings = model.src_embed.embedding.weight.detach().float()[:, order]
    positions = max(model.src_pos.pe[0], model.tgt_pos.pe[0], key=len)[:, order]
    for name in ("model.shared", "lm_head"):
        yield f"{name}.weight", embeddings
    yield "final_logits_bias", weight_and_bias(model.projection_layer.proj)[1].unsqueeze(0)
    for name, norms in NORMS.items():
        stack = getattr(model, name)
        yield f"model.{name}.embed_tokens.weight", embeddings
        yield f"model.{name}.embed_positions.weight", positions
        if config.norm == "pre":
            yield from _norm(f"model.{name}.layer_norm", stack.norm, order)
        for number, block in enumerate(stack.layers):
            yield from _layer(f"model.{name}.layers.{number}", block, norms, order)


def _layer(
    prefix: str, block: Any, norms: Sequence[str], order: Tensor
) -> Iterator[tuple[str, Tensor]]:
    for theirs, ours in LINEARS.items():
        if theirs.startswith("encoder_attn") and len(norms) == 2:
            continue  # an encoder has no cross-attention
        weight, bias = weight_and_bias(block.get_submodule(ours))
        writes = theirs.endswith(_WRITERS)
        yield f"{prefix}.{theirs}.weight", weight[order] if writes else weight[:, order]
        yield f"{prefix}.{theirs}.bias", bias[order] if writes else bias
    for name, residual in zip(norms, block.residual_connections, strict=True):
        yield from _norm(f"{prefix}.{name}", residual.norm, order)


def _norm(prefix: str, norm: Any, order: Tensor) -> Iterator[tuple[str, Tensor]]:
    gamma, beta = scale_and_shift(norm, len(order))
    yield f"{prefix}.weight", gamma[order]
    yield f"{prefix}.bias", beta[order]


def order_of(d_model: int) -> Tensor:
    """Our index of each of their features: 0, 2, 4, … (sines), then 1, 3, 5, … (cosines)."""
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])
