"""How torch computes a result: the number format, and the number of cores."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar, get_args

import torch
from torch import nn

from clearhead.decoding.choice import check_threads
from clearhead.errors import UserError
from clearhead.fast.processor import multiplies_bfloat16

Precision = Literal["float32", "bfloat16", "int8"]
Model = TypeVar("Model", bound=nn.Module)


def check_precision(precision: Precision, device: torch.device) -> None:
    """Refuse a precision that the readable engine cannot use, or that would be slower.

    float32 means the format of the model's weights as they are.

    Raises:
        UserError: it is unknown, int8, or bfloat16 on a device that only emulates it.
    """
    if precision not in get_args(Precision):
        names = ", ".join(get_args(Precision))
        raise UserError(f"precision {precision!r} is unknown; give {names} or auto")
    if precision == "int8":
        raise UserError(
            "the readable engine does not compute in int8; give precision float32, or use the "
            "native engine"
        )
    if precision == "bfloat16" and not multiplies_bfloat16(device):
        raise UserError(
            f"this {device.type} does not multiply bfloat16 natively, so it would be slower and "
            "less exact; give precision float32"
        )


def in_bfloat16(model: Model) -> Model:
    """A copy with bfloat16 parameters; buffers, such as tables of positions, keep their format."""
    model = copy.deepcopy(model)
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16()
    return model


def fastest_precision(device: torch.device) -> tuple[Precision, str]:
    """The meaning of `auto` on this device, and the reason for the log."""
    if device.type != "cpu":
        return "float32", f"float32, the weights as they are, on {device}"
    if multiplies_bfloat16(device):
        return "bfloat16", "bfloat16: this processor multiplies it natively"
    return "float32", "float32: this processor does not multiply bfloat16 natively"


def readable_precision(wanted: Precision | Literal["auto"], device: torch.device) -> Precision:
    """The precision that the readable engine computes in, `auto` resolved."""
    return fastest_precision(device)[0] if wanted == "auto" else wanted


def use_threads(threads: int | None) -> None:
    """Let torch compute on this many cores; None leaves its own choice."""
    if threads is not None:
        check_threads(threads)
        torch.set_num_threads(threads)


@contextmanager
def kept_threads() -> Iterator[None]:
    """Afterwards torch uses as many cores as before; some libraries change the number."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)
