"""The number format in which torch computes a result."""

import copy
from typing import Literal, TypeVar, get_args

import torch
from torch import nn

from clearhead.errors import UserError
from clearhead.fast.processor import multiplies_bfloat16

Precision = Literal["float32", "bfloat16", "int8"]
Model = TypeVar("Model", bound=nn.Module)


def in_precision(model: Model, precision: Precision) -> Model:
    """The model that the readable engine computes with: for bfloat16 a copy.

    float32 means the format of the model's weights as they are. The copy has bfloat16 parameters;
    its buffers, such as tables of positions, keep their format.

    Raises:
        UserError: it is unknown, int8, or bfloat16 on a device where it is slower.
    """
    if precision not in get_args(Precision):
        names = ", ".join(get_args(Precision))
        raise UserError(f"precision {precision!r} is unknown; give {names} or auto")
    if precision == "int8":
        raise UserError(
            "the readable engine does not compute in int8; give precision float32, or use the "
            "native engine"
        )
    if precision == "float32":
        return model
    device = next(model.parameters()).device
    if not multiplies_bfloat16(device):
        raise UserError(
            f"bfloat16 is not faster than float32 on this device ({device.type}), only less exact; "
            "give precision float32"
        )
    model = copy.deepcopy(model)
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16()
    return model


def readable_precision(wanted: Precision | Literal["auto"], device: torch.device) -> Precision:
    """The precision that the readable engine computes in, `auto` resolved."""
    if wanted != "auto":
        return wanted
    return "bfloat16" if device.type == "cpu" and multiplies_bfloat16(device) else "float32"
