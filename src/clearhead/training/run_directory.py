"""The files of a run. All of them are copies, so the directory may be moved.

config.yaml       the recipe, resolved       tokenizer.json, data/   the text as ids, and dev.jsonl
data/base_model.md  the README.md of the model that training starts from
metrics.jsonl     every record               train.log, curves.png   to be read by people
last/             the newest checkpoint, which is also a model directory
best/             a model directory: the best validation, or the average if that is better
snapshots/        the last few weights, for averaging

data/origin.json records what the run was made from, so that a resumption cannot silently change
its data or model. The ids in data/ and the shape of the weights follow from the recipe's data,
vocabulary and model; other keys (steps, learning rates, validation) may change at a resumption.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self, TypeVar

from clearhead.data.corpus import named_corpora
from clearhead.errors import UserError
from clearhead.files import atomic_write, crc32_of, missing_files, record_checksums, verify_checksum
from clearhead.training import checkpoint
from clearhead.training.recipe import RENAMED_KEYS, Recipe
from clearhead.training.recipe_file import dump_recipe, load_recipe
from clearhead.training.run_lock import RunLock

# The temporary names that `clearhead.files` gives.
UNFINISHED = re.compile(r"\..+\.(yaml|json|jsonl|npz|png|md|safetensors|bin|txt)\.[a-z0-9_]{8}")
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
        self.base_card = self.data / "base_model.md"
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
        record_origin(recipe, run.origin)  # before any other file: it marks them as the run's
        for leftover in (run.tokenizer, run.dev, run.base_card):
            leftover.unlink(missing_ok=True)
        atomic_write(run.config, dump_recipe(recipe))
        return run

    @classmethod
    def open(cls, root: Path) -> tuple[Self, Recipe]:
        """An existing run and its recipe.

        Raises:
            UserError: there is no run in that directory, it is in use, or it lacks files.
        """
        run = cls(root)
        if not run.config.exists():
            raise UserError(f"{root} holds no run (no config.yaml); start one without --resume")
        run.lock = RunLock(root)
        run._check_complete()
        return run, load_recipe(str(run.config))

    @property
    def has_copies(self) -> bool:
        """Whether the text was copied into the run, so that it needs no original file."""
        return self.resumable or (self.data / "meta.json").exists()

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

    def _check_complete(self) -> None:
        """What was removed is not made anew: the text may have changed, the weights are lost."""
        state = self.last / checkpoint.FILE
        trained = self.resumable or any(path.exists() for path in (self.best, self.snapshots))
        expected = [state, self.origin, *missing_files(self.root), *missing_files(self.data)]
        missing = [path for path in expected if not path.exists()] if trained else []
        if missing:
            raise UserError(
                f"{missing[0]} is missing, and the run cannot be continued without it; restore it "
                "from a copy, or start a new run in another --run-dir"
            )

    def _refuse_used(self) -> None:
        root = self.root
        if (self.data / "meta.json").exists() or self.resumable:
            raise UserError(
                f"{root} already holds a run; continue it with --resume, "
                "or choose another --run-dir"
            )
        if root.exists() and not root.is_dir():
            raise UserError(f"{root} is a file, expected a directory; choose another --run-dir")
        if _has_files(root) and not self._was_started():
            raise UserError(f"{root} is not an empty directory; choose another --run-dir")

    def _was_started(self) -> bool:
        """Whether what is here was written by a start that was stopped, not by someone else."""
        names = {path.name for path in self.root.iterdir() if not path.name.startswith(".")}
        return self.origin.exists() or (names == {self.data.name} and not _has_files(self.data))


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


log = logging.getLogger("clearhead.train")

CORPUS_FILES = "files"  # the corpora as they were when the run began
FREE_SECTIONS = ("optimizer", "run")
FIXED_RUN_KEYS = ("dev_sentences", "dev_texts")  # although the section is free
FREE_KEYS = {
    "data.attribution",
    "model.dropout",
    "model.attention_dropout",
    "model.activation_dropout",
}
LATER_KEYS = {"run.dev_texts"}  # which runs of earlier versions did not record
FIRST_TASK = {"task": "translation"}  # runs of the first versions do not name their task


def check_same_run(recipe: Recipe, path: Path, copied: bool) -> None:
    """Record what the run is made from, or compare the recipe with that record.

    Raises:
        UserError: the recipe names other data, another vocabulary or another model.
    """
    now = _fixed_keys(recipe)
    if not path.exists():
        record_origin(recipe, path)
        return
    before = _read_origin(path)
    for key, value in now.items():
        if before.get(key) != value and (key in before or key not in LATER_KEYS):
            raise UserError(
                f"{key} was {before.get(key)!r} when this run began and is {value!r} now; "
                "resume without that change, or start a new run in another --run-dir"
            )
    _check_files(before.get(CORPUS_FILES), copied)


def record_origin(recipe: Recipe, path: Path) -> None:
    """Record what the run is made from."""
    record = _fixed_keys(recipe) | {CORPUS_FILES: fingerprints(recipe)}
    atomic_write(path, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    record_checksums(path.parent, [path.name])


def fingerprints(recipe: Recipe) -> dict[str, dict[str, int]]:
    """Size, time and CRC-32 of every file that data.train and data.dev name and that exists."""
    specs = [spec for spec in (recipe.data.train, recipe.data.dev) if spec]
    parts = [part for spec in specs for corpus in named_corpora(spec) for part in _paths(corpus)]
    return {part: _fingerprint(Path(part)) for part in parts if Path(part).is_file()}


def _paths(corpus: str) -> list[str]:
    """A file, or two as SOURCE,TARGET."""
    return [corpus] if Path(corpus).is_file() else corpus.split(",")


def _fingerprint(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "crc32": crc32_of(path)}


def _check_files(before: Any, copied: bool) -> None:
    """Warn of files whose content has changed; a missing file may only have been moved."""
    for name, old in (before if isinstance(before, dict) else {}).items():
        path = Path(name)
        if not isinstance(old, dict) or not path.is_file():
            continue
        status = path.stat()
        same = (status.st_size, status.st_mtime_ns) == (old.get("size"), old.get("mtime_ns"))
        if not same and (status.st_size != old.get("size") or crc32_of(path) != old.get("crc32")):
            if not copied:
                raise UserError(
                    f"{name} has changed since this run began, and the run stopped before the text "
                    "was copied; restore the file, or start a new run in another --run-dir"
                )
            log.warning(
                "%s has changed since this run began; the run continues with the text as it was "
                "then. To train on the new text, start a new run",
                name,
            )


def _fixed_keys(recipe: Recipe) -> dict[str, Any]:
    sections = recipe.model_dump(mode="json")
    fixed = {name: keys for name, keys in sections.items() if name not in ("task", *FREE_SECTIONS)}
    found = {
        f"{section}.{key}": value for section, keys in fixed.items() for key, value in keys.items()
    }
    found |= {
        f"run.{key}": sections["run"][key] for key in FIXED_RUN_KEYS if key in sections["run"]
    }
    return {"task": recipe.task} | {key: found[key] for key in found if key not in FREE_KEYS}


def _read_origin(path: Path) -> dict[str, Any]:
    verify_checksum(path)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(
            f"cannot read {path} ({error}); restore it from a copy, or start a new run"
        ) from error
    if not isinstance(record, dict):
        raise UserError(f"{path} holds no JSON object; restore it from a copy, or start a new run")
    return FIRST_TASK | {RENAMED_KEYS.get(str(key), str(key)): record[key] for key in record}
