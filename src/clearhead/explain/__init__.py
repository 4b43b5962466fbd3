"""Explaining a model from outside: shapes, attention, ablation, saliency, the residual stream.

Nothing here changes what a model computes. `import clearhead.explain` is cheap: each name below
imports its module on first use.
"""

from clearhead.lazy import attributes_of

_MODULES = {
    "trace": "clearhead.explain.tracer",
    "Trace": "clearhead.explain.tracer",
    "AttentionView": "clearhead.explain.view",
    "head_view": "clearhead.explain.view",
    "model_view": "clearhead.explain.view",
}

__all__ = ["AttentionView", "Trace", "head_view", "model_view", "trace"]

__getattr__ = attributes_of(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
