"""Packages whose public names are imported at their first use (PEP 562), so that torch is, too."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def attributes_of(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package; `modules` says which module defines a public name."""

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
