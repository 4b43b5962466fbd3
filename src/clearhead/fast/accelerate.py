"""Swap the parts of a model for their fast twins; the weights stay where they are."""

from collections.abc import Callable
from typing import TypeVar

from torch import nn

from clearhead.blocks.normalization import LayerNormalization
from clearhead.fast.dropout import CheapDropout
from clearhead.fast.normalization import FusedLayerNormalization

Model = TypeVar("Model", bound=nn.Module)

TWINS: dict[type[nn.Module], Callable[..., nn.Module]] = {
    nn.Dropout: CheapDropout.twin,
    LayerNormalization: FusedLayerNormalization.twin,
}


def accelerate(model: Model) -> Model:
    """Replace, in place, every readable part that has a fast twin; returns the model.

    Only the exact classes are replaced: a learner's own subclass stays.
    """
    for module in list(model.modules()):
        for name, child in module.named_children():
            if twin := TWINS.get(type(child)):
                setattr(module, name, twin(child).train(child.training))
    return model
