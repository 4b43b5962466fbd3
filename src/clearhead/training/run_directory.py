"""Where a run keeps what it makes; everything in it is a copy, so it may be moved.

config.yaml       the recipe, resolved       tokenizer.json, data/   the text as ids, and dev.jsonl
metrics.jsonl     every record               train.log, curves.png   for people
last/             the state to resume from, and a model directory
best/             a model directory: the best evaluation, or the average if that is better
snapshots/        the last few weights, for averaging
"""

import re
from pathlib import Path
from typing import Self

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.training import checkpoint
from clearhead.training.recipe import Recipe
from clearhead.training.recipe_file import dump_recipe, load_recipe

# The temporary names that `clearhead.files` gives.
UNFINISHED = re.compile(r"\..+\.(yaml|json|jsonl|png|md|safetensors)\.[a-z0-9_]{8}")


class RunDirectory:
    """The paths of a run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "config.yaml"
        self.log = root / "train.log"
        self.tokenizer = root / "tokenizer.json"
        self.data = root / "data"
        self.origin = self.data / "origin.json"
        self.dev = self.data / "dev.jsonl"
        self.curves = root / "curves.png"
        self.last = root / "last"
        self.best = root / "best"
        self.snapshots = root / "snapshots"

    @classmethod
    def create(cls, root: Path, recipe: Recipe) -> Self:
        """A new run. Beginnings of one that never had its data are cleared, nothing else.

        Raises:
            UserError: the directory holds something else, or a run.
        """
        run = cls(root)
        if (run.data / "meta.json").exists() or run.resumable:
            raise UserError(
                f"{root} already holds a run; continue it with --resume, "
                "or choose another --run-dir"
            )
        if root.exists() and not root.is_dir():
            raise UserError(f"{root} is a file, expected a directory; choose another --run-dir")
        if _holds_something(root) and not run.config.exists():
            raise UserError(f"{root} is not an empty directory; choose another --run-dir")
        atomic_write(run.config, dump_recipe(recipe))
        for leftover in (run.tokenizer, run.origin, run.dev):
            leftover.unlink(missing_ok=True)
        return run

    @classmethod
    def open(cls, root: Path) -> tuple[Self, Recipe]:
        """An existing run and its recipe.

        Raises:
            UserError: there is no run in that directory.
        """
        run = cls(root)
        if not run.config.exists():
            raise UserError(f"{root} holds no run (no config.yaml); start one without --resume")
        return run, load_recipe(str(run.config))

    def sweep(self) -> None:
        """Remove what a kill left of files that were being written."""
        for path in list(self.root.rglob(".*")):
            if UNFINISHED.fullmatch(path.name):
                path.unlink()

    @property
    def resumable(self) -> bool:
        """Whether a checkpoint was written before the run stopped."""
        return (self.last / checkpoint.FILE).exists()


def _holds_something(root: Path) -> bool:
    try:
        return root.exists() and any(not p.name.startswith(".") for p in root.iterdir())
    except OSError as error:
        raise UserError(f"cannot look into {root}: {error.strerror}; choose another") from error
