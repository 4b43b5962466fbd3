"""The files of a model directory: config.json, and weights in one or several safetensors."""

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from clearhead.errors import UserError
from clearhead.models.weights import read_tensors

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
TOKENIZER = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt"),
    *("source.spm", "target.spm", "target_vocab.json"),
)
HOLDS = f"a model directory holds {CONFIG}, {WEIGHTS} (or its parts) and the tokenizer's files"


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object, or one line that says what is wrong with it."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; {HOLDS}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not a JSON file ({error}); copy the model again") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} holds no JSON object; copy the model again")
    return values


def read_weights(directory: Path) -> dict[str, Tensor]:
    """All tensors of a directory, in one file or in those that its index names.

    Raises:
        UserError: a file is missing, cut short or not safetensors, or the index and its
            files do not agree.
    """
    if (directory / INDEX).exists() and not (directory / WEIGHTS).exists():
        return _read_parts(directory)
    if not (directory / WEIGHTS).exists() and any((directory / name).exists() for name in PICKLED):
        raise UserError(
            f"{directory} has its weights in a Python pickle, which could run code and is not "
            f"opened here; `clearhead convert {directory} --output NEW_DIRECTORY` reads tensors "
            "alone and writes safetensors"
        )
    return read_tensors(directory / WEIGHTS)


def parts_of(index: Path) -> dict[str, str]:
    """Which file each tensor is in, as an index tells it."""
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(
        isinstance(name, str) and name == Path(name).name for name in places.values()
    ):
        raise UserError(f"{index} names no files beside it; copy the model again")
    return places


def _read_parts(directory: Path) -> dict[str, Tensor]:
    places = parts_of(directory / INDEX)
    tensors: dict[str, Tensor] = {}
    for part in sorted(set(places.values())):
        tensors |= read_tensors(directory / part)
    if lost := sorted(places.keys() - tensors.keys()):
        raise UserError(
            f"{directory / INDEX} names {lost[0]}, but {places[lost[0]]} does not hold it; "
            "copy the model again"
        )
    return tensors
