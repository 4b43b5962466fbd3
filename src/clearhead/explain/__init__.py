"""Explaining a model from outside: shapes, attention, ablation, saliency, the residual stream.

Nothing here changes what a model computes. `import clearhead.explain` is cheap: each name below
imports its module on first use.
"""

from importlib import import_module

_MODULES = {
    "trace": "clearhead.explain.tracer",
    "Trace": "clearhead.explain.tracer",
    "AttentionView": "clearhead.explain.view",
    "head_view": "clearhead.explain.view",
    "model_view": "clearhead.explain.view",
}

__all__ = ["AttentionView", "Trace", "head_view", "model_view", "trace"]


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module 'clearhead.explain' has no attribute {name!r}")
    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
