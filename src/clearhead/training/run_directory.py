"""The files of a run. All of them are copies, so the directory may be moved.

config.yaml       the recipe, resolved       tokenizer.json, data/   the text as ids, and dev.jsonl
metrics.jsonl     every record               train.log, curves.png   to be read by people
last/             the newest checkpoint, which is also a model directory
best/             a model directory: the best validation, or the average if that is better
snapshots/        the last few weights, for averaging
"""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self, TypeVar

from clearhead.errors import UserError
from clearhead.files import atomic_write, record_checksums, verify_checksum
from clearhead.training import checkpoint
from clearhead.training.recipe import Recipe
from clearhead.training.recipe_file import dump_recipe, load_recipe
from clearhead.training.run_lock import RunLock

# The temporary names that `clearhead.files` gives.
UNFINISHED = re.compile(r"\..+\.(yaml|json|jsonl|png|md|safetensors)\.[a-z0-9_]{8}")
Item = TypeVar("Item")


class RunDirectory:
    """The paths of a run, and the lock that keeps other processes from training in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock: RunLock | None = None
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
        """A new run. Files of a start that was stopped before its data were ready are removed.

        Raises:
            UserError: the directory holds something else, or a run, or is in use.
        """
        run = cls(root)
        run._refuse_used()
        run.lock = RunLock(root)
        run._refuse_used()  # another process may just have written its run there
        atomic_write(run.config, dump_recipe(recipe))
        for leftover in (run.tokenizer, run.origin, run.dev):
            leftover.unlink(missing_ok=True)
        return run

    @classmethod
    def open(cls, root: Path) -> tuple[Self, Recipe]:
        """An existing run and its recipe.

        Raises:
            UserError: there is no run in that directory, or it is in use.
        """
        run = cls(root)
        if not run.config.exists():
            raise UserError(f"{root} holds no run (no config.yaml); start one without --resume")
        run.lock = RunLock(root)
        return run, load_recipe(str(run.config))

    @property
    def resumable(self) -> bool:
        """Whether a checkpoint was written before the run stopped."""
        return (self.last / checkpoint.FILE).exists()

    def check_present(self) -> None:
        """Refuse to continue if the directory was removed or replaced.

        Raises:
            UserError: it was.
        """
        if self.lock:
            self.lock.check_directory()

    def release(self) -> None:
        """Release the lock."""
        if self.lock:
            self.lock.release()

    def remove_unfinished(self) -> None:
        """Remove the temporary files of a process that was killed while it wrote them."""
        for path in list(self.root.rglob(".*")):
            if UNFINISHED.fullmatch(path.name):
                path.unlink()

    def _refuse_used(self) -> None:
        root = self.root
        if (self.data / "meta.json").exists() or self.resumable:
            raise UserError(
                f"{root} already holds a run; continue it with --resume, "
                "or choose another --run-dir"
            )
        if root.exists() and not root.is_dir():
            raise UserError(f"{root} is a file, expected a directory; choose another --run-dir")
        if _has_files(root) and not self.config.exists():
            raise UserError(f"{root} is not an empty directory; choose another --run-dir")


def _has_files(root: Path) -> bool:
    try:
        return root.exists() and any(not p.name.startswith(".") for p in root.iterdir())
    except OSError as error:
        raise UserError(f"cannot read {root}: {error.strerror}; choose another") from error


def write_items(path: Path, items: Iterable[Any]) -> int:
    """Write a line of JSON for each item, with a checksum of the file; returns their number."""
    lines = [json.dumps(item, ensure_ascii=False) + "\n" for item in items]
    if lines:
        atomic_write(path, "".join(lines))
        record_checksums(path.parent, [path.name])
    return len(lines)


def read_items(path: Path, make: Callable[[Any], Item]) -> list[Item]:
    """Read what `write_items` wrote.

    Raises:
        UserError: the file is missing, or a line of it is damaged.
    """
    verify_checksum(path)
    items: list[Item] = []
    try:
        # JSON strings hold no line end, but perhaps U+2028, at which splitlines would cut.
        for line in path.read_text(encoding="utf-8").strip("\n").split("\n"):
            items.append(make(json.loads(line)))
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(
            f"cannot read {path}, line {len(items) + 1} ({error}); restore the file from a copy, "
            "or start a new run"
        ) from error
    return items


def text_of(value: Any) -> str:
    """A string that was read from JSON.

    Raises:
        TypeError: it is of another type.
    """
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} instead of a text")
    return value
