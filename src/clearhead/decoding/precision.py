"""The number format in which a translation is computed."""

import logging
from typing import Literal

import torch

from clearhead.errors import UserError
from clearhead.fast.fused_parts import is_standard
from clearhead.fast.int8_linear import Int8Linear
from clearhead.fast.packed_linear import BfloatLinear, Pack, float32
from clearhead.fast.processor import multiplies_bfloat16, multiplies_int8, multiplies_tiles
from clearhead.models import Transformer

logger = logging.getLogger(__name__)

Precision = Literal["float32", "bfloat16", "int8"]
PACKS: dict[Precision, Pack] = {
    "float32": float32,  # and any other format in which the model's weights already are
    "bfloat16": BfloatLinear,
    "int8": Int8Linear,
}
SHORT = {"bfloat16": multiplies_bfloat16, "int8": multiplies_int8}


def pack_for(model: Transformer, precision: Precision) -> Pack:
    """How to lay out weights for this precision.

    Raises:
        UserError: no such precision, or nothing to compute it with.
    """
    if precision not in PACKS:
        raise UserError(f"precision {precision!r} is unknown; give {', '.join(PACKS)} or auto")
    if precision == "float32":
        return PACKS[precision]
    device = next(model.parameters()).device
    if device.type != "cpu":
        raise UserError(
            f"precision {precision} is for processors, and this model is on {device}; "
            "give precision float32 or device cpu"
        )
    if not is_standard(model):
        raise UserError(
            f"precision {precision} needs a model of the library's own blocks, and this one has "
            "others or is being watched; give precision float32"
        )
    return PACKS[precision]


def fastest_precision(device: torch.device, few_rows: bool = False) -> tuple[Precision, str]:
    """What `auto` means here, and why, in words for a log.

    With few rows at a time it takes longer to read the weights than to multiply by them: then
    the shortest are the fastest.
    """
    if device.type != "cpu":
        return "float32", f"float32, the weights as they are, on {device}"
    if not few_rows and multiplies_tiles():
        return "bfloat16", "bfloat16 weights and inputs: this processor has matrix units (AMX)"
    if multiplies_int8(device):
        return "int8", "8-bit weights and inputs: this processor multiplies them natively (VNNI)"
    if multiplies_bfloat16(device):
        return "bfloat16", "bfloat16 weights and inputs: this processor multiplies them natively"
    return "float32", "float32: this processor multiplies nothing shorter natively"


def say_if_widened(precision: Precision, device: torch.device) -> None:
    """Whoever asks for short numbers mostly hopes for speed: say where there is none in them."""
    if device.type == "cpu" and precision in SHORT and not SHORT[precision](device):
        logger.warning(
            "this processor does not multiply %s natively: float32 is as fast and exact", precision
        )
