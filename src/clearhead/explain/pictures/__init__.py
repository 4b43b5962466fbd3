"""Pictures in one style, one a file; each function returns a `Picture`, which saves itself."""

from clearhead.explain.pictures.alignment import alignment
from clearhead.explain.pictures.all_heads import all_heads
from clearhead.explain.pictures.all_layers import all_layers
from clearhead.explain.pictures.embedding_neighbours import embedding_neighbours
from clearhead.explain.pictures.head_effects import head_effects
from clearhead.explain.pictures.logit_lens import logit_lens
from clearhead.explain.pictures.loss_curves import loss_curves
from clearhead.explain.pictures.mask_gallery import mask_gallery
from clearhead.explain.pictures.one_head import one_head
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.position_products import position_products
from clearhead.explain.pictures.position_waves import position_waves
from clearhead.explain.pictures.residual_norms import residual_norms
from clearhead.explain.pictures.saliency_beside_attention import saliency_beside_attention
from clearhead.explain.pictures.schedules import schedules
from clearhead.explain.pictures.shares import shares
from clearhead.explain.pictures.sinusoid_map import sinusoid_map

__all__ = [
    "Picture",
    "alignment",
    "all_heads",
    "all_layers",
    "embedding_neighbours",
    "head_effects",
    "logit_lens",
    "loss_curves",
    "mask_gallery",
    "one_head",
    "position_products",
    "position_waves",
    "residual_norms",
    "saliency_beside_attention",
    "schedules",
    "shares",
    "sinusoid_map",
]
