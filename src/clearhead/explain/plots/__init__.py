"""Plots in one style; each function returns a `Plot`, which a notebook shows and `save` writes."""

from clearhead.explain.plots.attention import (
    alignment,
    all_heads,
    all_layers,
    mask_gallery,
    one_head,
    saliency_beside_attention,
)
from clearhead.explain.plots.embeddings import (
    embedding_neighbours,
    position_products,
    position_waves,
    sinusoid_map,
)
from clearhead.explain.plots.interpretability import head_effects, logit_lens, residual_norms
from clearhead.explain.plots.plot import Plot
from clearhead.explain.plots.training import loss_curves, schedules, shares

__all__ = [
    "Plot", "alignment", "all_heads", "all_layers", "embedding_neighbours", "head_effects",
    "logit_lens", "loss_curves", "mask_gallery", "one_head", "position_products",
    "position_waves", "residual_norms", "saliency_beside_attention", "schedules", "shares",
    "sinusoid_map",
]  # fmt: skip
