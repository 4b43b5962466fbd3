"""Export of a model directory to the format of another engine, completely or not at all."""

import logging
import os
import shutil
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clearhead.errors import UserError
from clearhead.files import read_json_object, temporary_name
from clearhead.models import Transformer
from clearhead.models.config import HOLDS, MODEL_TYPE
from clearhead.text import Tokenizer


@dataclass(frozen=True)
class Target:
    """One engine, and the packages that it needs.

    Its `module` has `build(model, tokenizer, directory, precision)`, `USAGE`, an example for the
    README, and `Loaded(directory)`, a `verify.Engine`. The first of `precisions` is the default.
    """

    title: str
    module: str
    builds_with: tuple[str, ...]
    runs_with: tuple[str, ...]
    precisions: tuple[str, ...]


TARGETS = {
    "ctranslate2": Target(
        "CTranslate2",
        "clearhead.export.ctranslate2",
        ("ctranslate2",),
        ("ctranslate2",),
        ("float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16"),
    ),
    "onnx": Target(
        "ONNX", "clearhead.export.onnx", ("onnx", "onnxscript"), ("onnxruntime",), ("float32",)
    ),
    "huggingface": Target(
        "transformers",
        "clearhead.export.huggingface",
        ("transformers",),
        ("transformers",),
        ("float32", "bfloat16", "float16"),
    ),
}


def find_target(name: str) -> Target:
    """The target of this name, or a `UserError` where there is none."""
    if name not in TARGETS:
        raise UserError(f"there is no target {name!r}; export to {', '.join(TARGETS)}")
    return TARGETS[name]


def check_precision(target: Target, precision: str | None) -> str:
    """The precision of the stored weights, if the target supports it; None means its default."""
    chosen = precision or target.precisions[0]
    if chosen not in target.precisions:
        raise UserError(
            f"{target.title} exports do not support precision {chosen!r}; choose from "
            f"{', '.join(target.precisions)}"
        )
    return chosen


def builder_of(target: Target) -> Any:
    """The module that writes the files of a target, if its packages are installed."""
    _require(target.builds_with, f"exporting to {target.title}")
    return import_module(target.module)


def engine_of(target: Target) -> Any:
    """The class that loads an export into its engine, if that is installed."""
    _require(target.runs_with, f"running {target.title} exports")
    return import_module(target.module).Loaded


def _require(packages: tuple[str, ...], purpose: str) -> None:
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise UserError(
            f"{purpose} needs {' and '.join(missing)}: not installed; install with: "
            "pip install 'clearhead[export]'"
        )


_VERBOSE = ("torch.onnx", "transformers", "onnxscript", "onnx_ir")


def export(source: Path, target: Target, output: Path, precision: str) -> None:
    """Write the model in `source` to `output`, completely or not at all.

    Its README.md is the model's own, which contains the attribution of the training data, with an
    example of its use in the target.

    Raises:
        UserError: there is no such model, it does not fit the target, a package is missing, or
            `output` exists or cannot be written.
    """
    kind = read_json_object(source / "config.json", HOLDS).get("model_type", MODEL_TYPE)
    if kind != MODEL_TYPE:
        raise UserError(
            f"export takes translators that clearhead trained, and {source} holds a {kind} model; "
            "give the directory of such a translator"
        )
    builder = builder_of(target)
    with new_directory(output) as directory:
        model, tokenizer = Transformer.from_pretrained(source), Tokenizer.load(source)
        with quiet():
            builder.build(model, tokenizer, directory, precision)
        _write_card(source / "README.md", f"Use with {target.title}", builder.USAGE, directory)


def _write_card(card: Path, title: str, usage: str, directory: Path) -> None:
    own = card.read_bytes().rstrip() + b"\n\n" if card.is_file() else b""  # in any encoding
    text = f"## {title}\n\n```python\n{usage.strip()}\n```\n"
    (directory / "README.md").write_bytes(own + text.encode())


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings and log lines below error level of the exporting libraries."""
    levels = {logger: logger.level for logger in map(logging.getLogger, _VERBOSE)}
    try:
        for logger in levels:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


# What libraries call a full disk, a quota or a limit on the size of a file in errors of their own.
DISK_FULL = ("No space left", "File too large", "Disk quota exceeded", "os error 28", "os error 27")


def check_free(path: Path) -> None:
    """Refuse a path that exists, unless it is an empty directory."""
    if not path.name:
        raise UserError(f"{path} cannot be replaced; give the name of a new directory, --output")
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UserError(f"{path} is a file or a link; give the name of a new directory, --output")
    if path.is_dir() and any(path.iterdir()):
        raise UserError(
            f"{path} exists and is not empty; give another directory with --output, or remove it"
        )


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A temporary directory to fill; it becomes `path` when the block ends without an error.

    Raises:
        UserError: `path` exists or cannot be written.
    """
    check_free(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_name(path)
        temporary.mkdir()
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        yield temporary
        _publish(temporary, path)
    except OSError as error:
        raise _unwritable(path, error) from error
    except Exception as error:  # of a library, for example SafetensorError
        if any(text in str(error) for text in DISK_FULL):
            raise _unwritable(path, error) from error
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _publish(temporary: Path, path: Path) -> None:
    # The directory has the permissions that the umask allows; some libraries give fewer.
    mode = stat.S_IMODE(temporary.stat().st_mode) & 0o666
    for file in temporary.rglob("*"):
        if file.is_file():
            file.chmod(mode)
            with file.open("rb+") as handle:
                os.fsync(handle.fileno())
    check_free(path)
    if path.is_dir():
        path.rmdir()  # it is empty; Windows cannot rename onto a directory
    temporary.rename(path)


def _unwritable(path: Path, error: Exception) -> UserError:
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    return UserError(
        f"cannot write {path}: {reason}; free some space or choose a writable directory with "
        "--output"
    )
