"""Everything a run needs to go on as if it had never stopped, in one file.

Tensors (master weights, Adam's moments, random states) are safetensors; numbers
and the position in the data are JSON in its header. One file, renamed into
place, is whole or absent: a kill at any moment leaves the previous one.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from clearhead.errors import UserError
from clearhead.models.weights import write_tensors
from clearhead.training.measures import Meter

FILE = "training_state.safetensors"


@dataclass
class Progress:
    """The numbers of a run; plain values only."""

    step: int = 0
    data: dict[str, int] = field(default_factory=dict)  # position in the batches
    best: float | None = None  # higher is better
    best_step: int = 0
    evaluations_since_best: int = 0
    dev: dict[str, float] = field(default_factory=dict)  # the newest evaluation
    averaged_at: int = -1  # the step after which the run was finished
    skipped: int = 0  # steps whose gradient was not finite
    skipped_in_a_row: int = 0
    seconds: float = 0.0  # spent training, over all resumptions
    tokens: int = 0  # that were predicted
    meter: Meter = field(default_factory=Meter)


def save_checkpoint(directory: Path, progress: Progress, tensors: dict[str, Tensor]) -> None:
    """Write the state of a run.

    Raises:
        UserError: it holds a NaN, or cannot be written; the previous one stays.
    """
    bad = [name for name, t in tensors.items() if t.is_floating_point() and not t.isfinite().all()]
    if bad:
        raise UserError(
            f"step {progress.step}: {', '.join(bad)} holds NaN or infinity, so this state is not "
            "saved; resume from the last good one with a lower --set optimizer.peak_lr=…"
        )
    content = {name: t.detach().cpu().contiguous() for name, t in (tensors | _random()).items()}
    write_tensors(directory / FILE, content, {"progress": json.dumps(asdict(progress))})


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
            values = json.loads(file.metadata()["progress"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        values["meter"] = Meter(**values["meter"])
        progress = Progress(**values)
        _restore_random(tensors)
    except (SafetensorError, KeyError, TypeError, ValueError, OSError, RuntimeError) as error:
        raise UserError(
            f"{path} is not a whole training checkpoint ({error}); put a copy of it in its place, "
            "or start a new run in another --run-dir"
        ) from error
    return progress, tensors


def _random() -> dict[str, Tensor]:
    states = {"random_cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["random_cuda"] = torch.cuda.get_rng_state()
    return states


def _restore_random(tensors: dict[str, Tensor]) -> None:
    torch.set_rng_state(tensors.pop("random_cpu"))
    cuda = tensors.pop("random_cuda", None)
    if cuda is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(cuda)
