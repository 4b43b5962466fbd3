"""Checkpoints, from which a run is resumed bit-identically, and snapshots for averaging.

A checkpoint is one safetensors file: float32 master weights, the optimizer's moments and the
random states as tensors, everything else as JSON in its header. It is renamed into its final
name, so it is complete or absent: a kill at any moment leaves the previous one.

A snapshot is the weights of one evaluation. The mean of weights from the flat end of training
is nearer to the minimum than any one of them (paper, section 6.1: the last 5, or 20).
"""

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from clearhead.errors import UserError
from clearhead.models.weight_files import check_checksum
from clearhead.models.weights import METADATA, read_tensors, write_tensors
from clearhead.training.metrics import Meter, Progress

FILE = "training_state.safetensors"


def save_checkpoint(directory: Path, progress: Progress, tensors: dict[str, Tensor]) -> None:
    """Write a checkpoint, with the states of the random generators.

    Raises:
        UserError: a tensor is not finite, or the file cannot be written; the previous one stays.
    """
    bad = [name for name, t in tensors.items() if t.is_floating_point() and not t.isfinite().all()]
    if bad:
        raise UserError(
            f"step {progress.step}: {', '.join(bad)} holds NaN or infinity, so this checkpoint is "
            "not saved; resume from the last good one with a lower --set optimizer.peak_lr=…"
        )
    everything = tensors | random_states()
    content = {name: t.detach().cpu().contiguous() for name, t in everything.items()}
    write_tensors(directory / FILE, content, {"progress": json.dumps(asdict(progress))})


def load_checkpoint(directory: Path) -> tuple[Progress, dict[str, Tensor]]:
    """Read what `save_checkpoint` wrote and restore the random generators.

    Raises:
        UserError: the file is missing, damaged, or not a checkpoint.
    """
    path = directory / FILE
    if not path.exists():
        raise UserError(f"there is no {path} to resume from; start without --resume")
    try:
        with safe_open(path, "pt") as file:
            text = file.metadata()["progress"]
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, OSError) as error:
        raise incomplete(path, str(error)) from error
    check_checksum(path)
    try:
        values = json.loads(text)
        # Earlier versions saved a checkpoint after its evaluation.
        values.setdefault("evaluated_at", values["step"])
        values["meter"] = Meter(**values["meter"])
        progress = Progress(**values)
        restore_random_states(tensors)
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise incomplete(path, str(error)) from error
    return progress, tensors


def incomplete(path: Path, reason: str) -> UserError:
    """The error for a file that is not a complete checkpoint."""
    return UserError(
        f"{path} is not a complete training checkpoint ({reason}); replace it by a copy, "
        "or start a new run in another --run-dir"
    )


def random_states() -> dict[str, Tensor]:
    """Of torch's generators, one a device, under the names that they have in a checkpoint."""
    states = {"random_cpu": torch.get_rng_state()}
    for n in range(torch.cuda.device_count()):
        states[_cuda(n)] = torch.cuda.get_rng_state(n)
    if torch.backends.mps.is_available():
        states["random_mps"] = torch.mps.get_rng_state()
    return states


def restore_random_states(tensors: dict[str, Tensor]) -> None:
    """Continue from `random_states`, which are taken out of `tensors`, on the devices of here."""
    states = {name: tensors.pop(name) for name in list(tensors) if name.startswith("random_")}
    torch.set_rng_state(states["random_cpu"])
    for n in range(torch.cuda.device_count()):
        if (state := states.get(_cuda(n))) is not None:
            torch.cuda.set_rng_state(state, n)
    if "random_mps" in states and torch.backends.mps.is_available():
        torch.mps.set_rng_state(states["random_mps"])


def _cuda(n: int) -> str:
    """The name of GPU n's state; earlier versions saved that of the first alone."""
    return f"random_cuda_{n}" if n else "random_cuda"


def save_snapshot(model: nn.Module, directory: Path, step: int, keep: int) -> None:
    """Save this step's weights, and delete all but the last `keep` snapshots."""
    tensors = {name: p.detach().cpu().contiguous() for name, p in model.named_parameters()}
    write_tensors(directory / f"{step:09d}.safetensors", tensors, METADATA)
    for old in list_snapshots(directory)[:-keep]:
        old.unlink()


def list_snapshots(directory: Path) -> list[Path]:
    """Snapshot files, oldest first."""
    return sorted(directory.glob("[0-9]*.safetensors"))


def drop_later_snapshots(directory: Path, step: int) -> None:
    """Delete the snapshots that were written after the checkpoint of `step`."""
    for path in list_snapshots(directory):
        if int(path.stem) > step:
            path.unlink()


def average_snapshots(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of every weight, summed in float64 in the order given: always the same bits.

    Raises:
        UserError: there are no snapshots.
    """
    if not paths:
        raise UserError("there are no snapshots to average; train with run.average above 0")
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, tensor in read_tensors(path).items():
            total[name] = total.get(name, torch.zeros((), dtype=torch.float64)) + tensor.double()
    return {name: (tensor / len(paths)).float() for name, tensor in total.items()}
