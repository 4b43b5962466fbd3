"""The last few models of a run, and their average.

The mean of weights from the flat end of training lies nearer to the middle of
the valley than any one of them (paper, section 6.1: the last 5, or 20).
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from clearhead.errors import UserError
from clearhead.models.weights import METADATA, read_tensors, write_tensors


def save_snapshot(model: nn.Module, directory: Path, step: int, keep: int) -> None:
    """Keep this step's weights, and those of the `keep` - 1 evaluations before it."""
    tensors = {name: p.detach().cpu().contiguous() for name, p in model.named_parameters()}
    write_tensors(directory / f"{step:09d}.safetensors", tensors, METADATA)
    for old in list_snapshots(directory)[:-keep]:
        old.unlink()


def list_snapshots(directory: Path) -> list[Path]:
    """Snapshot files, oldest first."""
    return sorted(directory.glob("[0-9]*.safetensors"))


def drop_later_snapshots(directory: Path, step: int) -> None:
    """Forget what was written after the checkpoint that a run goes on from."""
    for path in list_snapshots(directory):
        if int(path.stem) > step:
            path.unlink()


def average_snapshots(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of every weight, summed in float64 in the order given: always the same bits."""
    if not paths:
        raise UserError("there are no snapshots to average; train with run.average above 0")
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, tensor in read_tensors(path).items():
            total[name] = total.get(name, torch.zeros((), dtype=torch.float64)) + tensor.double()
    return {name: (tensor / len(paths)).float() for name, tensor in total.items()}
