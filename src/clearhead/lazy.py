"""Packages whose public names are imported at their first use (PEP 562), so that torch is, too."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def attributes_of(
    package: str, names: Mapping[str, Sequence[str]], packages: Sequence[str] = ()
) -> Callable[[str], object]:
    """The ``__getattr__`` of a package; its ``__dir__``, set here, lists the same names.

    `names` are the public ones by the module that defines them, `packages` those inside it.
    """
    own = vars(sys.modules[package])
    home = {name: module for module, found in names.items() for name in found}

    def load(name: str) -> object:
        if name in packages:
            return import_module(f"{package}.{name}")  # which makes it an attribute
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        own[name] = value = getattr(import_module(home[name]), name)
        return value

    own["__dir__"] = lambda: sorted({*own, *home, *packages})  # help() and Tab in a shell read it
    return load
