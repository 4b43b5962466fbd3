"""What a run was made from, so that a resumption cannot silently change its data or model.

The ids in data/ and the shape of the weights follow from the recipe's data, vocabulary and
model. Other keys (steps, learning rates, validation) may change at a resumption.
"""

import json
import logging
from pathlib import Path
from typing import Any

from clearhead.data.corpus import named_corpora
from clearhead.errors import UserError
from clearhead.files import atomic_write, crc32_of, record_checksums, verify_checksum
from clearhead.training.recipe import RENAMED_KEYS, Recipe

log = logging.getLogger("clearhead.train")

FILES = "files"  # the corpora as they were when the run began
FREE_SECTIONS = ("optimizer", "run")
FIXED_RUN_KEYS = ("dev_sentences",)  # although the section is free
FREE_KEYS = {
    "data.attribution",
    "model.dropout",
    "model.attention_dropout",
    "model.activation_dropout",
}
FIRST_TASK = {"task": "translation"}  # runs of the first versions do not name their task


def check_same_run(recipe: Recipe, path: Path) -> None:
    """Record what the run is made from, or compare the recipe with that record.

    Raises:
        UserError: the recipe names other data, another vocabulary or another model.
    """
    now = _fixed_keys(recipe)
    if not path.exists():
        record = now | {FILES: fingerprints(recipe)}
        atomic_write(path, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
        record_checksums(path.parent, [path.name])
        return
    before = _read(path)
    for key, value in now.items():
        if before.get(key) != value:
            raise UserError(
                f"{key} was {before.get(key)!r} when this run began and is {value!r} now; "
                "resume without that change, or start a new run in another --run-dir"
            )
    _warn_of_changed_files(before.get(FILES))


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


def _warn_of_changed_files(before: Any) -> None:
    """Warn of files whose content has changed; a missing file may only have been moved."""
    for name, old in (before if isinstance(before, dict) else {}).items():
        path = Path(name)
        if not isinstance(old, dict) or not path.is_file():
            continue
        status = path.stat()
        same = (status.st_size, status.st_mtime_ns) == (old.get("size"), old.get("mtime_ns"))
        if not same and (status.st_size != old.get("size") or crc32_of(path) != old.get("crc32")):
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


def _read(path: Path) -> dict[str, Any]:
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
