"""Reading the files of a tokenizer in a model directory, and the commands for a model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers

from clearhead.errors import UserError
from clearhead.files import read_json_object, verify_checksum

# The files that may name the special tokens; a later one takes precedence.
SPECIAL_TOKEN_FILES = ("special_tokens_map.json", "tokenizer_config.json")
# The languages of a translator, and those of a directory without the file.
LANGUAGES, ENGLISH_FRENCH = "languages.json", {"source": "en", "target": "fr"}
HOLDS = (
    "a model directory holds config.json, model.safetensors (or its parts) and the tokenizer's "
    "files"
)
# model_type of a config.json -> the commands for such a model
TRANSLATE, ENCODE = "`clearhead translate`", "`clearhead fill-mask`, `embed` or `classify`"
COMMANDS = {
    "clearhead-transformer": TRANSLATE,
    "clearhead-biology": "`clearhead bio`",
    "marian": TRANSLATE,
    "gpt2": "`clearhead generate`",
    "bert": ENCODE,
    "esm": ENCODE,
}
OTHERS = {kind: use for kind, use in COMMANDS.items() if use != TRANSLATE}  # not translators


def read_text(path: Path) -> str:
    """The content of a text file.

    Raises:
        UserError: it cannot be read, is damaged, or is not UTF-8.
    """
    verify_checksum(path)
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; {HOLDS}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not a text file ({error}); copy the model again") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a vocabulary file."""
    return read_text(path).removesuffix("\n").split("\n")


def read_json(path: Path, otherwise: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A JSON object; `otherwise` replaces a missing file.

    Raises:
        UserError: the file cannot be read, is damaged, or holds no JSON object.
    """
    if otherwise is not None and not path.exists():
        return dict(otherwise)
    return read_json_object(path, HOLDS)


def special_tokens_of(directory: Path, usual: Mapping[str, str]) -> dict[str, str]:
    """The special tokens as text, by their roles: `pad`, `cls`, `eos` and so on.

    Args:
        usual: the special tokens where the files name no others.
    """
    special = dict(usual)
    for name in SPECIAL_TOKEN_FILES:
        for key, value in read_json(directory / name, {}).items():
            if key.endswith("_token") and value:
                token = value.get("content") if isinstance(value, dict) else value
                if isinstance(token, str):
                    special[key.removesuffix("_token")] = token
    return special


def read_engine(directory: Path) -> tokenizers.Tokenizer:
    """The tokenizer in tokenizer.json.

    Raises:
        UserError: the file is missing, damaged, or no tokenizer.
    """
    path = directory / "tokenizer.json"
    verify_checksum(path)
    try:
        return tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}; a model directory holds config.json, "
            "model.safetensors and tokenizer.json"
        ) from error
    except Exception as error:  # the library raises bare Exception
        raise UserError(
            f"{path} is not a tokenizer file ({error}); copy the model again"
        ) from error
