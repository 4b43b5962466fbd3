"""What the fused encoder and decoder are made of, and when they may stand in for the readable ones.

A readable layer of the decoder is 60 calls of modules and some hundred kernels a
token. Fused, what depends on the weights alone is computed once, and what is
left is called directly.
"""

import math
from collections.abc import Callable
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import (
    ActivatedFeedForwardBlock,
    BiasedLayerNormalization,
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    FeedForwardBlock,
    HalvedPositionalEncoding,
    InputEmbeddings,
    LayerNormalization,
    MultiHeadAttentionBlock,
    PlainEmbeddings,
    PositionalEncoding,
    PostNormResidualConnection,
    ProjectionLayer,
    ResidualConnection,
)
from clearhead.blocks.activations import tanh_gelu
from clearhead.fast.dropout import CheapDropout
from clearhead.fast.packed_linear import Pack, as_short, side_by_side
from clearhead.fast.tanh_gelu import fast_tanh_gelu

Function = Callable[[Tensor], Tensor]
Around = Callable[[Tensor, Function, Function], Tensor]

LANES = 16

# Exactly these and their fast twins: a learner's own block must be the one that runs.
STANDARD = {
    *(Encoder, EncoderBlock, Decoder, DecoderBlock),
    *(InputEmbeddings, PositionalEncoding, ProjectionLayer, FeedForwardBlock),
    *(MultiHeadAttentionBlock, ResidualConnection, PostNormResidualConnection),
    *(LayerNormalization, nn.Dropout, CheapDropout, nn.ModuleList),
    # Marian's.
    *(PlainEmbeddings, HalvedPositionalEncoding),
    *(ActivatedFeedForwardBlock, BiasedLayerNormalization),
    *(nn.Linear, nn.Embedding, nn.Identity),
}


def is_standard(model: nn.Module) -> bool:
    """Whether all parts are the library's own and nobody watches them."""
    parts = [module for name, module in model.named_modules() if name]
    return all(_is_ours(type(part)) and not is_watched(part) for part in parts)


def is_watched(part: nn.Module) -> bool:
    """Whether somebody wants to see what goes into it, comes out of it, or looks where."""
    hooks = part._forward_hooks or part._forward_pre_hooks
    return bool(hooks) or getattr(part, "keep_attention_scores", False)


def _is_ours(kind: type) -> bool:
    in_fast = kind.__module__.startswith("clearhead.fast.")
    return kind in STANDARD or (in_fast and issubclass(kind, tuple(STANDARD)))


def norm(module: nn.Module, features: int) -> Function:
    """Either of the two formulas on weights that are fetched once; identity stays identity."""
    if not isinstance(module, LayerNormalization):
        return module
    alpha, bias, eps = module.alpha.detach(), module.bias.detach(), module.eps
    if not isinstance(module, BiasedLayerNormalization):  # as in `FusedLayerNormalization`
        alpha, eps = alpha * math.sqrt((features - 1) / features), eps**2
    alpha, bias = (weight.expand(features).contiguous() for weight in (alpha, bias))
    return lambda x: torch.layer_norm(x, (features,), alpha, bias, eps)


def before(x: Tensor, norm: Function, sublayer: Function) -> Tensor:
    """Pre-norm, as in `ResidualConnection`; the sum is written over the sublayer's output."""
    return sublayer(norm(x)).add_(x)


def after(x: Tensor, norm: Function, sublayer: Function) -> Tensor:
    """Post-norm, as in `PostNormResidualConnection`."""
    return norm(sublayer(x).add_(x))


def around(residual: nn.Module) -> Around:
    """Where the norm of this residual connection stands."""
    return after if isinstance(residual, PostNormResidualConnection) else before


def softmax(scores: Tensor) -> Tensor:
    """Over the last axis; few numbers are filled up to a whole register of the processor.

    The kernel takes fewer than 16 numbers one by one: over 10 of them it needs six times
    as long as over 16.
    """
    keys = scores.shape[-1]
    if keys >= LANES:
        return scores.softmax(dim=-1)
    return F.pad(scores, (0, LANES - keys), value=-torch.inf).softmax(dim=-1)[..., :keys]


def feed_forward(module: nn.Module, pack: Pack) -> Function:
    """The two products with the model's curve between them."""
    block = cast(FeedForwardBlock, module)
    first, second = side_by_side(pack, block.linear_1), side_by_side(pack, block.linear_2)
    curve: Function = getattr(block, "activation", torch.relu)
    # What the first product wrote is nobody else's: the relu may stand in its place.
    bend = {torch.relu: torch.relu_, tanh_gelu: fast_tanh_gelu}.get(curve, curve)
    return as_short(pack, lambda x: second(bend(first(x))))


def norms(residuals: nn.ModuleList, features: int) -> list[Function]:
    """The norms of a layer's residual connections."""
    return [norm(residual.get_submodule("norm"), features) for residual in residuals]
