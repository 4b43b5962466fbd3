"""The engines that a model can be exported to, and the packages they need.

Imports nothing heavy.
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from clearhead.errors import UserError


@dataclass(frozen=True)
class Target:
    """One engine.

    The module `builder` has `build(model, tokenizer, directory, precision)` and `USAGE`, an
    example for the README; the module `engine` has `Loaded(directory)`, a `verify.Engine`. The
    first of `precisions` is the default.
    """

    title: str
    builder: str
    builds_with: tuple[str, ...]
    engine: str
    runs_with: tuple[str, ...]
    precisions: tuple[str, ...]


TARGETS = {
    "ctranslate2": Target(
        "CTranslate2",
        "clearhead.export.ctranslate2",
        ("ctranslate2",),
        "clearhead.export.ctranslate2",
        ("ctranslate2",),
        ("float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16"),
    ),
    "onnx": Target(
        "ONNX",
        "clearhead.export.onnx",
        ("onnx", "onnxscript"),
        "clearhead.export.onnx",
        ("onnxruntime",),
        ("float32",),
    ),
    "huggingface": Target(
        "transformers",
        "clearhead.export.huggingface",
        ("transformers",),
        "clearhead.export.huggingface",
        ("transformers",),
        ("float32", "bfloat16", "float16"),
    ),
}


def find_target(name: str) -> Target:
    """The target of this name.

    Raises:
        UserError: there is no such target.
    """
    if name not in TARGETS:
        raise UserError(f"there is no target {name!r}; export to {', '.join(TARGETS)}")
    return TARGETS[name]


def check_precision(target: Target, precision: str | None) -> str:
    """The precision of the stored weights; None means the target's default.

    Raises:
        UserError: the target does not support it.
    """
    chosen = precision or target.precisions[0]
    if chosen not in target.precisions:
        raise UserError(
            f"{target.title} exports do not support precision {chosen!r}; choose from "
            f"{', '.join(target.precisions)}"
        )
    return chosen


def builder_of(target: Target) -> Any:
    """The module that writes the files of a target.

    Raises:
        UserError: a package is missing.
    """
    _require(target.builds_with, f"exporting to {target.title}")
    return import_module(target.builder)


def engine_of(target: Target) -> Any:
    """The class that loads an export into its engine.

    Raises:
        UserError: a package is missing.
    """
    _require(target.runs_with, f"running {target.title} exports")
    return import_module(target.engine).Loaded


def _require(packages: tuple[str, ...], purpose: str) -> None:
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise UserError(
            f"{purpose} needs {' and '.join(missing)}, which is not installed; "
            "pip install 'clearhead[export]'"
        )
