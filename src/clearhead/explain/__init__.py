"""Seeing inside a model that does not know it is watched.

`import clearhead.explain` is cheap: a name below brings its room with it when it is
first used.
"""

from importlib import import_module

_HOME = {
    "trace": "clearhead.explain.tracer",
    "Trace": "clearhead.explain.tracer",
    "AttentionView": "clearhead.explain.view",
    "head_view": "clearhead.explain.view",
    "model_view": "clearhead.explain.view",
}

__all__ = ["AttentionView", "Trace", "head_view", "model_view", "trace"]


def __getattr__(name: str) -> object:
    """Fetch a public name from its room on first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'clearhead.explain' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
