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
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    FeedForwardBlock,
    InputEmbeddings,
    LayerNormalization,
    MultiHeadAttentionBlock,
    PositionalEncoding,
    PostNormResidualConnection,
    ProjectionLayer,
    ResidualConnection,
)
from clearhead.fast.dropout import CheapDropout
from clearhead.fast.packed_linear import Pack, side_by_side

Function = Callable[[Tensor], Tensor]
Around = Callable[[Tensor, Function, Function], Tensor]

LANES = 16

# Exactly these and their fast twins: a learner's own block must be the one that runs.
STANDARD = {
    *(Encoder, EncoderBlock, Decoder, DecoderBlock),
    *(InputEmbeddings, PositionalEncoding, ProjectionLayer, FeedForwardBlock),
    *(MultiHeadAttentionBlock, ResidualConnection, PostNormResidualConnection),
    *(LayerNormalization, nn.Dropout, CheapDropout, nn.ModuleList),
    *(nn.Linear, nn.Embedding, nn.Identity),
}


def is_standard(model: nn.Module) -> bool:
    """Whether all parts are the library's own and nobody watches them."""
    parts = [module for name, module in model.named_modules() if name]
    return all(
        _is_ours(type(part))
        and not part._forward_hooks
        and not part._forward_pre_hooks
        and not getattr(part, "keep_attention_scores", False)
        for part in parts
    )


def _is_ours(kind: type) -> bool:
    in_fast = kind.__module__.startswith("clearhead.fast.")
    return kind in STANDARD or (in_fast and issubclass(kind, tuple(STANDARD)))


def norm(module: nn.Module, features: int) -> Function:
    """`FusedLayerNormalization` with its alpha multiplied out once; identity stays identity."""
    if not isinstance(module, LayerNormalization):
        return module
    alpha = module.alpha.detach() * math.sqrt((features - 1) / features)
    alpha, bias = alpha.expand(features).contiguous(), module.bias.detach().expand(features)
    bias, shape, eps = bias.contiguous(), (features,), module.eps**2
    return lambda x: torch.layer_norm(x, shape, alpha, bias, eps)


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
    """The two products with the relu between them in place."""
    block = cast(FeedForwardBlock, module)
    first, second = side_by_side(pack, block.linear_1), side_by_side(pack, block.linear_2)
    return lambda x: second(first(x).relu_())


def norms(residuals: nn.ModuleList, features: int) -> list[Function]:
    """The norms of a layer's residual connections."""
    return [norm(cast(ResidualConnection, residual).norm, features) for residual in residuals]
