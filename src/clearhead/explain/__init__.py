"""Explaining a model from outside: shapes, attention, ablation, saliency, the residual stream.

Nothing here changes what a model computes. `import clearhead.explain` is cheap: each name below
imports its module on first use.
"""

from clearhead.lazy import attributes_of

__all__ = ["AttentionView", "Trace", "head_view", "model_view", "trace"]

__getattr__ = attributes_of(
    __name__,
    {
        "clearhead.explain.tracer": ["Trace", "trace"],
        "clearhead.explain.view": ["AttentionView", "head_view", "model_view"],
    },
)
