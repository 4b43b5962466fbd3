"""How many cores the translator computes on."""

import torch

from clearhead.errors import UserError


def use_threads(threads: int | None) -> None:
    """Let torch compute on this many cores; None leaves its own choice."""
    if threads is None:
        return
    if threads < 1:
        raise UserError(f"threads={threads} is not a number of cores; give at least 1")
    torch.set_num_threads(threads)
