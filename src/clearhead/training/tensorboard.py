"""The records of a run for TensorBoard: `--set run.tensorboard=true`."""

from pathlib import Path
from typing import Any

from clearhead.errors import UserError


class Board:
    """Writes scalars named like `train/loss`."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer

    def write(self, kind: str, step: int, values: dict[str, float]) -> None:
        """One record."""
        for name, value in values.items():
            self.writer.add_scalar(f"{kind}/{name}", value, step)
        self.writer.flush()

    def close(self) -> None:
        """Write what is left."""
        self.writer.close()


def open_board(directory: Path, step: int) -> Board:
    """A board whose events after `step` are forgotten.

    Raises:
        UserError: TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise UserError(
            "run.tensorboard=true needs TensorBoard, which is not installed; "
            "pip install 'clearhead[tensorboard]', or leave it out: metrics.jsonl is always written"
        ) from error
    return Board(SummaryWriter(str(directory), purge_step=step + 1))
