"""Which classes a model is built of: the readable ones, the fast ones, or a learner's own."""

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
    """A class for every block; any of them may be replaced by one of the same signature.

    Parameter names are those of the blocks here, so weights move freely between
    two models that differ only in their parts:
    ``replace(READABLE, feed_forward=MyFeedForwardBlock)``.
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
