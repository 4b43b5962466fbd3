"""Models on the Hugging Face hub, downloaded once into its cache."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from clearhead.errors import UserError
from clearhead.models.weights import refuse_a_file
from clearhead.pretrained.files import CONFIG, HOLDS, INDEX, TOKENIZER, WEIGHTS

_NAME = re.compile(r"[\w.-]+/[\w.-]+|[\w-][\w.-]*")
# How sentence-transformers pools a text: a few hundred bytes.
SENTENCES = ("modules.json", "*_Pooling/config.json", "sentence_bert_config.json")
FILES = (
    *(CONFIG, "generation_config.json", WEIGHTS, INDEX, "model-*-of-*.safetensors"),
    *TOKENIZER,
    *SENTENCES,
)


def directory_of(source: str | Path, files: tuple[str, ...] = FILES) -> Path:
    """The directory itself, or the directory of a hub model in the cache.

    Raises:
        UserError: there is neither; the message says which files are needed.
    """
    path = Path(source)
    if path.is_dir():
        return path
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
