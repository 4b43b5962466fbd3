"""Which device, number format and tricks a run uses, and why, in words for its log."""

from typing import Literal, NamedTuple

import torch

from clearhead.errors import UserError
from clearhead.fast.accelerate import twins_for
from clearhead.fast.memory import keep_freed_memory
from clearhead.fast.processor import multiplies_bfloat16

Precision = Literal["auto", "fp32", "bf16"]


class Ground(NamedTuple):
    """Where the numbers live, and all that follows from it; `why` is the line in the log."""

    device: torch.device
    dtype: torch.dtype
    why: str

    @property
    def twins(self) -> frozenset[str]:
        """The fast parts that pay there."""
        return twins_for(self.device)

    @property
    def length_step(self) -> int:
        """Lengths are padded to a multiple of this: a GPU's matrix units work in eights."""
        return 1 if self.device.type == "cpu" else 8

    def prepare(self) -> None:
        """What is set for the whole process."""
        if self.device.type == "cpu":
            keep_freed_memory()


def choose_ground(device: str, precision: Precision) -> Ground:
    """Resolve `auto`: a GPU if there is one, bfloat16 where the chip multiplies it natively.

    Raises:
        UserError: the device is unknown or not present.
    """
    chosen = choose_device(device)
    capable = multiplies_bfloat16(chosen)
    if precision == "fp32" or (precision == "auto" and not capable):
        reason = "as asked" if precision == "fp32" else "no bfloat16 units here"
        return Ground(chosen, torch.float32, f"{chosen}, float32 ({reason})")
    reason = "native bfloat16 units" if capable else "as asked, but far slower here than float32"
    why = f"{chosen}, bfloat16 with float32 master weights ({reason})"
    return Ground(chosen, torch.bfloat16, why)


def choose_device(name: str) -> torch.device:
    """`auto`, `cpu`, `cuda`, `cuda:1`, `mps` as a device that is really there."""
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
            "that torch can use; give --device auto"
        )
    return torch.device(name)
