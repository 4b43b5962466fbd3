"""The classes of which a model is built; any of them can be replaced."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from clearhead.blocks.attention import MultiHeadAttentionBlock
from clearhead.blocks.embeddings import InputEmbeddings
from clearhead.blocks.feed_forward import FeedForwardBlock
from clearhead.blocks.normalization import LayerNormalization
from clearhead.blocks.positional_encoding import PositionalEncoding
from clearhead.blocks.projection import ProjectionLayer
from clearhead.blocks.residual import PostNormResidualConnection, ResidualConnection

Part = Callable[..., nn.Module]


@dataclass(frozen=True)
class Parts:
    """A class for each block, to be replaced by another one with the same signature.

    ``replace(READABLE, feed_forward=MyFeedForwardBlock)`` is a model with your own block. If
    the block has the same parameter names, it loads the same weights.
    """

    embeddings: Part = InputEmbeddings
    positions: Part = PositionalEncoding
    attention: Part = MultiHeadAttentionBlock
    feed_forward: Part = FeedForwardBlock
    normalization: Part = LayerNormalization
    residual: Part = ResidualConnection
    post_norm_residual: Part = PostNormResidualConnection
    projection: Part = ProjectionLayer


READABLE = Parts()
