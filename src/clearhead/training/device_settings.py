"""Device, data type and engine of a run; the log says which were chosen and why.

The blocks' own forwards run with every engine. `readable` replaces nothing; `fast` replaces
leaf operations that the blocks call, and computes projection and loss in one operation.
"""

from typing import Literal, NamedTuple

import torch
from torch import nn

from clearhead.errors import UserError
from clearhead.fast.accelerate import operations_for, replaceable
from clearhead.fast.processor import multiplies_bfloat16
from clearhead.native.search import check_threads
from clearhead.training.objective import TokenLoss, cross_entropy, fused_cross_entropy

EngineChoice = Literal["auto", "readable", "fast"]
Precision = Literal["auto", "fp32", "bf16"]


class TrainingEngine(NamedTuple):
    """The operations of a training step that have a faster version."""

    name: Literal["readable", "fast"]
    operations: frozenset[str]  # of `clearhead.fast.accelerate`
    token_loss: TokenLoss

    def describe(self, model: nn.Module, predicts_tokens: bool) -> str:
        """The engine and the reason, for the log, before `accelerate` changes the model."""
        if self.name == "readable":
            return "readable: set by run.engine"
        names = replaceable(model, self.operations) + ["loss"] * predicts_tokens
        if not names:
            return "fast: no operation of this model has a faster version"
        *most, last = names
        listed = f"{', '.join(most)} and {last}" if most else last
        return f"fast: faster versions of {listed}"


class DeviceSettings(NamedTuple):
    """Device, data type and engine of a run; `reason` is written to the log."""

    device: torch.device
    dtype: torch.dtype
    engine: TrainingEngine
    reason: str

    @property
    def length_multiple(self) -> int:
        """Lengths are padded to a multiple of this: a GPU's matrix units work on eights."""
        return 1 if self.device.type == "cpu" else 8


def choose_device_settings(
    device: str, precision: Precision, engine: EngineChoice = "auto"
) -> DeviceSettings:
    """Resolve `auto`: a CUDA GPU if there is one, bfloat16 where it is faster.

    With the readable engine `auto` is float32, the data type of the formulas.

    Raises:
        UserError: the device is unknown or not available.
    """
    chosen = choose_device(device)
    found = choose_engine(engine, chosen)
    faster = multiplies_bfloat16(chosen)
    dtype, reason = _data_type(precision, faster, found.name == "readable")
    return DeviceSettings(chosen, dtype, found, f"{chosen}, {reason}")


def choose_device(name: str) -> torch.device:
    """The device for `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.

    Raises:
        UserError: the name is unknown, or this machine has no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    counts = {
        "cpu": 1,
        "cuda": torch.cuda.device_count(),
        "mps": int(torch.backends.mps.is_available()),
    }
    kind, colon, number = name.partition(":")
    if kind not in counts or bool(colon) != number.isdecimal():
        raise UserError(f"device {name!r} is unknown; expected auto, cpu, cuda, cuda:N or mps")
    if int(number or 0) >= counts[kind]:
        raise UserError(
            f"device {name!r} is not available: this machine has {counts[kind]} {kind} devices "
            "that torch can use; give the device auto"
        )
    return torch.device(name)


def choose_engine(choice: EngineChoice, device: torch.device) -> TrainingEngine:
    """`auto` is `fast`, with the leaf operations that are faster on this device."""
    if choice == "readable":
        return TrainingEngine("readable", frozenset(), cross_entropy)
    return TrainingEngine("fast", operations_for(device), fused_cross_entropy)


def _data_type(precision: Precision, faster: bool, readable: bool) -> tuple[torch.dtype, str]:
    if precision == "fp32":
        return torch.float32, "float32 (set by run.precision)"
    if precision == "auto" and readable:
        return torch.float32, "float32 (run.engine: readable)"
    if precision == "auto" and not faster:
        return torch.float32, "float32 (bfloat16 is not faster here)"
    reason = (
        "faster here than float32" if faster else "set by run.precision; slower here than float32"
    )
    return torch.bfloat16, f"bfloat16 with float32 master weights ({reason})"


def use_threads(threads: int | None) -> None:
    """Let torch compute on this many cores; None leaves its own choice."""
    if threads is not None:
        check_threads(threads)
        torch.set_num_threads(threads)
