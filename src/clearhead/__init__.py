"""clearhead: the Transformer you can read is the Transformer you run.

`import clearhead` is cheap: torch loads when one of the names below is first
used, not before.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for editors and type checkers, which run nothing
    from clearhead.models import Transformer, build_transformer
    from clearhead.pipelines import pipeline
    from clearhead.translation import Translator

__version__ = "0.1.0"

_HOME = {
    "Translator": "clearhead.translation",
    "pipeline": "clearhead.pipelines",
    "Transformer": "clearhead.models",
    "build_transformer": "clearhead.models",
}

__all__ = ["Transformer", "Translator", "__version__", "build_transformer", "pipeline"]


def __getattr__(name: str) -> object:
    """Import a public name from its package at its first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'clearhead' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
