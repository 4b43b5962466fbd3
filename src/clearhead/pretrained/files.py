"""The files of a model directory: config.json, and weights in one or more safetensors files.

A model on the Hugging Face hub is downloaded once, into the hub's cache.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import Tensor

from clearhead.errors import UserError
from clearhead.models.weight_files import best_of_run, refuse_pickles
from clearhead.models.weights import read_tensors, refuse_a_file
from clearhead.text.model_files import HOLDS, read_json

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
TOKENIZER = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt"),
    *("source.spm", "target.spm", "target_vocab.json"),
)


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


_NAME = re.compile(r"[\w.-]+/[\w.-]+|[\w-][\w.-]*")
# How sentence-transformers pools a text: a few hundred bytes.
SENTENCES = ("modules.json", "*_Pooling/config.json", "sentence_bert_config.json")
FILES = (
    *(CONFIG, "generation_config.json", WEIGHTS, INDEX, "model-*-of-*.safetensors"),
    *TOKENIZER,
    *SENTENCES,
)


def directory_of(source: str | Path, files: tuple[str, ...] = FILES) -> Path:
    """The directory itself, the best model of a run, or a hub model's directory in the cache.

    Raises:
        UserError: there is neither; the message says which files are needed.
    """
    if source == "":
        raise UserError(f"the name of the model is empty; {HOLDS}")
    path = Path(source)
    if path.is_dir():
        return best_of_run(path)
    refuse_a_file(path)
    if isinstance(source, Path) or not _NAME.fullmatch(source):
        raise UserError(f"there is no directory {source}; {HOLDS}")
    return _fetched(source, files)


def _fetched(name: str, files: tuple[str, ...]) -> Path:
    hub = _hub(name)
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(files)))
    except (OSError, ValueError, hub.errors.EntryNotFoundError, hub.errors.HTTPError) as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise UserError(
            f"there is no directory {name}, and the hub returned no model of that name "
            f"({reason}); without a network: {_by_hand(name)}"
        ) from error


def _hub(name: str) -> Any:
    try:
        import_module("huggingface_hub.errors")
        return import_module("huggingface_hub")
    except ImportError as error:
        raise UserError(
            f"there is no directory {name}; to fetch it from the hub: pip install "
            f"huggingface_hub; or {_by_hand(name)}"
        ) from error


def _by_hand(name: str) -> str:
    return (
        f"place {CONFIG}, {WEIGHTS} and the tokenizer's files of {name} in a directory and "
        "give its path"
    )
