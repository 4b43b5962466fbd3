"""Assemblies of blocks."""

from clearhead.models.config import PRESETS, TransformerConfig
from clearhead.models.transformer import Transformer, build_transformer
from clearhead.models.tree import count_parameters, tree

__all__ = [
    "PRESETS",
    "Transformer",
    "TransformerConfig",
    "build_transformer",
    "count_parameters",
    "tree",
]
