"""What a directory of sentence-transformers says about how its vectors are made."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clearhead.errors import UserError
from clearhead.pretrained.files import read_json

Pooling = Literal["mean", "inner", "cls", "none"]
MODULES, LENGTHS = "modules.json", "sentence_bert_config.json"
OURS = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}


@dataclass(frozen=True)
class SentenceSettings:
    """How tokens become one vector, whether it gets length 1, and the longest text if told."""

    pooling: Pooling = "mean"
    normalise: bool = False
    limit: int | None = None

    @classmethod
    def of(cls, directory: Path) -> "SentenceSettings":
        """From its files; a directory without them means a plain mean.

        Raises:
            UserError: it asks for something that we do not have.
        """
        if not (directory / MODULES).is_file():
            return cls()
        found = {"pooling": "mean", "normalise": False}
        for module in _modules(directory / MODULES):
            kind = str(module.get("type")).rsplit(".", 1)[-1]
            if kind == "Pooling":
                found["pooling"] = _pooling(directory / str(module.get("path")) / "config.json")
            elif kind == "Normalize":
                found["normalise"] = True
            elif kind != "Transformer":
                raise UserError(
                    f"{directory / MODULES} asks for a module {kind!r}, and ours are Transformer, "
                    "Pooling and Normalize; give another model, or remove the file and choose "
                    "--pooling yourself"
                )
        lengths = directory / LENGTHS
        limit = read_json(lengths).get("max_seq_length") if lengths.is_file() else None
        return cls(**found, limit=limit if isinstance(limit, int) else None)  # type: ignore[arg-type]


def _modules(path: Path) -> list[dict[str, object]]:
    """The list in modules.json (a list, where our other files hold objects)."""
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is not a JSON file ({error}); copy the model again") from error
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise UserError(f"{path} holds no list of modules; copy the model again")
    return modules


def _pooling(path: Path) -> str:
    """`pooling_mode` in new files, one `pooling_mode_…` that is true in old ones."""
    said = read_json(path)
    modes = [said["pooling_mode"]] if "pooling_mode" in said else [
        key.removeprefix("pooling_mode_") for key, value in said.items()
        if key.startswith("pooling_mode_") and value is True
    ]  # fmt: skip
    if len(modes) != 1 or modes[0] not in OURS:
        raise UserError(
            f"{path} asks for the pooling {' and '.join(map(str, modes)) or 'none'}, and ours are "
            "mean and cls; choose --pooling yourself"
        )
    return OURS[modes[0]]
