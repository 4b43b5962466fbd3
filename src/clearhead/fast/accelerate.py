"""Swap the parts of a model for their fast twins; the weights stay where they are."""

from collections.abc import Callable, Collection
from typing import TypeVar

import torch
from torch import nn

from clearhead.blocks.attention import MultiHeadAttentionBlock
from clearhead.blocks.normalization import LayerNormalization
from clearhead.blocks.residual import ResidualConnection
from clearhead.errors import UserError
from clearhead.fast.attention import FastMultiHeadAttentionBlock
from clearhead.fast.dropout import CheapDropout
from clearhead.fast.normalization import FusedLayerNormalization
from clearhead.fast.residual import FastResidualConnection
from clearhead.fast.sdpa import SdpaMultiHeadAttentionBlock

Model = TypeVar("Model", bound=nn.Module)
Swap = dict[type[nn.Module], Callable[..., nn.Module]]

# Each trick by its name; a benchmark leaves out one after the other.
TWINS: dict[str, Swap] = {
    "attention": {MultiHeadAttentionBlock: FastMultiHeadAttentionBlock.twin},
    "sdpa": {MultiHeadAttentionBlock: SdpaMultiHeadAttentionBlock.twin},
    "dropout": {nn.Dropout: CheapDropout.twin},
    "normalization": {LayerNormalization: FusedLayerNormalization.twin},
    "residual": {ResidualConnection: FastResidualConnection.twin},
}
ON_CPU = frozenset(TWINS) - {"sdpa"}
# A GPU draws random numbers fast by itself, and has one kernel for attention.
ON_GPU = frozenset({"sdpa", "normalization"})


def twins_for(device: torch.device) -> frozenset[str]:
    """Which tricks pay on a device."""
    return ON_CPU if device.type == "cpu" else ON_GPU


def accelerate(model: Model, twins: Collection[str] = ON_CPU) -> Model:
    """Replace, in place, every readable part that has a fast twin; returns the model.

    `twins` names the tricks, all of those for a CPU unless told otherwise. Only the
    exact classes are replaced: a learner's own subclass stays.

    A block whose dropout is somebody's own stays, too: a twin draws what it drops itself.

    Raises:
        UserError: there is no trick of that name.
    """
    if unknown := sorted(set(twins) - TWINS.keys()):
        raise UserError(f"there is no twin {unknown[0]!r}; choose from {', '.join(TWINS)}")
    swap: Swap = {part: twin for name in sorted(twins) for part, twin in TWINS[name].items()}
    for module in list(model.modules()):
        for name, child in module.named_children():
            if (twin := swap.get(type(child))) and _drops_as_usual(child):
                setattr(module, name, twin(child).train(child.training))
    return model


def _drops_as_usual(part: nn.Module) -> bool:
    return type(getattr(part, "dropout", None)) in (type(None), nn.Dropout, CheapDropout)
