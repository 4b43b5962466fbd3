"""Packages of others: loaded if they are there, named in one line if they are not."""

import importlib
import importlib.util
from collections.abc import Collection
from typing import Any

from clearhead.errors import UserError

EXTRA = 'pip install "clearhead[compare]"'


def is_installed(package: str) -> bool:
    """Whether `library(package)` will find it."""
    return importlib.util.find_spec(package) is not None


def library(package: str) -> Any:
    """A package that we can run without; its names carry no types."""
    return importlib.import_module(package)


def left_out(name: str, package: str, install: str = EXTRA) -> str:
    """What is said of a contestant that cannot come."""
    return f"{name} left out: the package {package} is not installed ({install})"


def chosen(only: Collection[str], names: Collection[str]) -> list[str]:
    """The names asked for, or all.

    Raises:
        UserError: one of them is nobody's name.
    """
    for name in only:
        if name not in names:
            raise UserError(f"--only {name}: nobody is called so; choose from {', '.join(names)}")
    return [name for name in names if not only or name in only]
