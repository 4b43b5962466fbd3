"""The tokenizer's files in the directory of a pretrained model."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearhead.errors import UserError

# Where the names of the signs may stand; what comes later counts.
SIGN_FILES = ("special_tokens_map.json", "tokenizer_config.json")


def read_text(path: Path) -> str:
    """A text file, or one line that says what is wrong."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}; the tokenizer's files stand beside the model's"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not a text file ({error}); copy the model again") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a vocabulary."""
    return read_text(path).removesuffix("\n").split("\n")


def read_json(path: Path, otherwise: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A JSON object; `otherwise` stands in for a file that is not there."""
    if otherwise is not None and not path.exists():
        return dict(otherwise)
    try:
        values = json.loads(read_text(path))
    except ValueError as error:
        raise UserError(f"{path} is not a JSON file ({error}); copy the model again") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} holds no JSON object; copy the model again")
    return values


def signs_of(directory: Path, usual: Mapping[str, str]) -> dict[str, str]:
    """How the signs are written, by their roles: `pad`, `cls`, `eos` and so on."""
    signs = dict(usual)
    for name in SIGN_FILES:
        for key, value in read_json(directory / name, {}).items():
            if key.endswith("_token") and value:
                sign = value.get("content") if isinstance(value, dict) else value
                if isinstance(sign, str):
                    signs[key.removesuffix("_token")] = sign
    return signs
