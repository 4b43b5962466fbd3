"""Packages whose public names are imported at their first use (PEP 562), so that torch is, too."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def attributes_of(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package; its ``__dir__``, set here, lists the same names.

    `modules` says which module defines a public name, or is that module.
    """
    own = vars(sys.modules[package])

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(modules[name])
        is_module = modules[name] == f"{package}.{name}"
        own[name] = value = module if is_module else getattr(module, name)
        return value

    own["__dir__"] = lambda: sorted({*own, *modules})  # help() and Tab in a shell read it
    return load
