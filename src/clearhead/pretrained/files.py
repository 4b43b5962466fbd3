"""The files of a model directory: config.json, and weights in one or more safetensors files."""

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from clearhead.errors import UserError
from clearhead.files import verify_checksum
from clearhead.models.weight_files import refuse_pickles
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
    """A JSON object.

    Raises:
        UserError: the file cannot be read, is damaged, or holds something else.
    """
    verify_checksum(path)
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
    """All tensors of a directory, from one file or those of its index.

    Raises:
        UserError: a file is missing, truncated or not safetensors, or the index does not match.
    """
    if (directory / INDEX).exists() and not (directory / WEIGHTS).exists():
        return _read_parts(directory)
    refuse_pickles(directory)
    return read_tensors(directory / WEIGHTS)


def parts_of(index: Path) -> dict[str, str]:
    """The file of each tensor, from an index."""
    files = read_json(index).get("weight_map")
    if not isinstance(files, dict) or not all(
        isinstance(name, str) and name == Path(name).name for name in files.values()
    ):
        raise UserError(f"{index} names no files in its directory; copy the model again")
    return files


def _read_parts(directory: Path) -> dict[str, Tensor]:
    files = parts_of(directory / INDEX)
    tensors: dict[str, Tensor] = {}
    for part in sorted(set(files.values())):
        tensors |= read_tensors(directory / part)
    if lost := sorted(files.keys() - tensors.keys()):
        raise UserError(
            f"{directory / INDEX} names {lost[0]}, but {files[lost[0]]} does not hold it; "
            "copy the model again"
        )
    return tensors
