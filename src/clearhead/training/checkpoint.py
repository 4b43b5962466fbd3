"""Everything a run needs to go on as if it had never stopped, in one file.

Tensors (master weights, Adam's moments, random states) are safetensors; numbers
and the position in the data are JSON in its header. One file, renamed into
place, is whole or absent: a kill at any moment leaves the previous one.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from clearhead.errors import UserError
from clearhead.files import atomic_save

FILE = "training_state.safetensors"


@dataclass
class Progress:
    """The numbers of a run; plain values only."""

    step: int = 0
    data: dict[str, int] = field(default_factory=dict)  # position in the batches
    best: float | None = None
    best_step: int = 0
    evaluations_since_best: int = 0
    skipped: int = 0  # steps whose gradient was not finite
    skipped_in_a_row: int = 0
    seconds: float = 0.0  # spent training, over all resumptions
    tokens: int = 0  # target tokens seen


def save_checkpoint(directory: Path, progress: Progress, tensors: dict[str, Tensor]) -> None:
    """Write the state of a run; refuses one that holds a NaN."""
    bad = [name for name, t in tensors.items() if t.is_floating_point() and not t.isfinite().all()]
    if bad:
        raise UserError(f"{', '.join(bad)} holds NaN or infinity; the last good checkpoint is kept")
    content = {name: t.detach().cpu().contiguous() for name, t in (tensors | _random()).items()}
    header = {"progress": json.dumps(asdict(progress))}
    atomic_save(directory / FILE, lambda path: save_file(content, path, metadata=header))


def load_checkpoint(directory: Path) -> tuple[Progress, dict[str, Tensor]]:
    """Read what `save_checkpoint` wrote and put the random generators back.

    Raises:
        UserError: there is none, or the file is not one.
    """
    path = directory / FILE
    if not path.exists():
        raise UserError(f"there is no {path} to resume from; start without --resume")
    try:
        with safe_open(path, "pt") as file:
            progress = Progress(**json.loads(file.metadata()["progress"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise UserError(f"{path} is not a training checkpoint ({error})") from error
    _restore_random(tensors)
    return progress, tensors


def _random() -> dict[str, Tensor]:
    states = {"random_cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["random_cuda"] = torch.cuda.get_rng_state()
    return states


def _restore_random(tensors: dict[str, Any]) -> None:
    torch.set_rng_state(tensors.pop("random_cpu"))
    if (cuda := tensors.pop("random_cuda", None)) is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(cuda)
