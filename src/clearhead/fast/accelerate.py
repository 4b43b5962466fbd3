"""Faster leaf operations under blocks that keep their own forwards: `accelerate`."""

import math
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks.attention import MultiHeadAttentionBlock, record_attention
from clearhead.blocks.masks import as_boolean
from clearhead.blocks.normalization import LayerNormalization
from clearhead.blocks.variants.positions import RotaryMultiHeadAttentionBlock
from clearhead.errors import UserError
from clearhead.fast.dropout import CheapDropout

Model = TypeVar("Model", bound=nn.Module)


def fused_normalize(x: Tensor, alpha: Tensor, bias: Tensor, eps: float) -> Tensor:
    r"""`LayerNormalization.normalize` in one pass over memory instead of seven.

    The kernel divides by :math:`\sqrt{\sigma_b^2 + \epsilon'}` with the biased standard
    deviation :math:`\sigma_b`. Since :math:`\sigma = \sigma_b \sqrt{n / (n - 1)}`, the factor
    moves into alpha, and :math:`\epsilon' = \epsilon^2` makes the two denominators agree where
    sigma is much larger than epsilon (the relative difference is at most epsilon / sigma).

    Shape:
        x: (..., features) -> the same
    """
    n = x.shape[-1]
    weight = (alpha * math.sqrt((n - 1) / n)).expand(n)
    return F.layer_norm(x, (n,), weight, bias.expand(n), eps**2)


def kernel_attention(
    block: MultiHeadAttentionBlock,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: nn.Module | None,
) -> tuple[Tensor, Tensor]:
    """`MultiHeadAttentionBlock.attention` of one block, by `F.scaled_dot_product_attention`.

    On a GPU torch chooses a fused kernel. It processes the keys in blocks that fit into on-chip
    memory and updates the softmax from block to block, so the weight matrix is never stored as a
    whole: the method of FlashAttention (Dao et al. 2022). (That kernel itself takes no mask; with
    a mask, torch uses another one of the same kind.) On a CPU the backward pass of torch's kernel
    is several times slower than the formula's, so there the formula stays.

    While the block keeps its attention scores, or if its dropout is not `nn.Dropout`, the
    formula is computed. Otherwise the second result is empty.

    Shape:
        query: (batch, h, query, d_k), key and value: (batch, h, key, d_k),
        mask: broadcasts to (batch, h, query, key), True = visible
        -> (batch, h, query, d_k), weights (batch, h, query, key) or (0,)
    """
    if block.keep_attention_scores or type(dropout) not in (nn.Dropout, type(None)):
        return MultiHeadAttentionBlock.attention(query, key, value, mask, dropout)
    visible = None if mask is None else as_boolean(mask)
    rate = dropout.p if isinstance(dropout, nn.Dropout) and dropout.training else 0.0
    x = F.scaled_dot_product_attention(query, key, value, visible, rate)
    if visible is not None:
        # Kernels differ in what a query without visible keys gets; here its output is 0.
        x = x.masked_fill(~visible.any(-1, keepdim=True), 0.0)
    return x, x.new_empty(0)


def is_fast(operation: object) -> bool:
    """Whether `accelerate` put this in the place of an attention function or a normalization."""
    return getattr(operation, "func", operation) in (kernel_attention, fused_normalize)


def _replace_attention(block: Any) -> None:
    block.attention = partial(kernel_attention, block)


def _replace_dropout(module: nn.Module) -> None:
    for name, child in module.named_children():
        if type(child) is nn.Dropout:
            setattr(module, name, CheapDropout(child.p).train(child.training))


def _replace_normalize(norm: Any) -> None:
    norm.normalize = fused_normalize


class LeafOperation(NamedTuple):
    """One operation, replaced in one module at a time."""

    called_by: Callable[[nn.Module], bool]  # only the library's own classes, no subclasses
    replace: Callable[[Any], None]


ATTENTIONS = (MultiHeadAttentionBlock, RotaryMultiHeadAttentionBlock)
LEAF_OPERATIONS = {
    "attention": LeafOperation(lambda module: type(module) in ATTENTIONS, _replace_attention),
    "dropout": LeafOperation(
        lambda module: any(type(child) is nn.Dropout for child in module.children()),
        _replace_dropout,
    ),
    "normalization": LeafOperation(
        lambda module: type(module) is LayerNormalization, _replace_normalize
    ),
}
# A GPU draws random numbers fast by itself, and has one kernel for attention.
ON_CPU = frozenset({"dropout", "normalization"})
ON_GPU = frozenset({"attention", "normalization"})


def operations_for(device: torch.device) -> frozenset[str]:
    """Which leaf operations are worth replacing on a device."""
    return ON_CPU if device.type == "cpu" else ON_GPU


def accelerate(model: Model, operations: Collection[str] = ON_CPU) -> Model:
    """Replace these leaf operations in place; returns the model.

    Weights, classes, hooks and the `forward` of each block stay. A subclass of a block, or of
    `nn.Dropout`, keeps its operations. The blocks no longer record their `attention_scores`,
    which take memory; `record_attention` switches them on again.

    Raises:
        UserError: there is no leaf operation of that name.
    """
    for name, module in _found(model, operations):
        LEAF_OPERATIONS[name].replace(module)
    record_attention(model, False)
    return model


def replaceable(model: nn.Module, operations: Collection[str]) -> list[str]:
    """Those of these leaf operations that `accelerate` replaces in this model, in order."""
    return sorted({name for name, _ in _found(model, operations)})


def _found(model: nn.Module, operations: Collection[str]) -> list[tuple[str, nn.Module]]:
    if unknown := sorted(set(operations) - LEAF_OPERATIONS.keys()):
        raise UserError(
            f"there is no leaf operation {unknown[0]!r}; choose from {', '.join(LEAF_OPERATIONS)}"
        )
    return [
        (name, module)
        for module in model.modules()
        for name in sorted(operations)
        if LEAF_OPERATIONS[name].called_by(module)
    ]
