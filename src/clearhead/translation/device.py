"""Where the translator computes."""

import torch

from clearhead.errors import UserError


def choose_device(name: str) -> torch.device:
    """`auto`, `cpu`, `cuda`, `cuda:1` or `mps` as a device that is really there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = name.split(":")[0]
    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if kind not in present:
        raise UserError(f"device {name!r} is unknown; expected auto, cpu, cuda, cuda:N or mps")
    if not present[kind]:
        raise UserError(f"device {name!r} is not available on this machine; use --device auto")
    return torch.device(name)


def use_threads(threads: int | None) -> None:
    """Let torch compute on this many cores; None leaves its own choice."""
    if threads is None:
        return
    if threads < 1:
        raise UserError(f"threads={threads} is not a number of cores; give at least 1")
    torch.set_num_threads(threads)
