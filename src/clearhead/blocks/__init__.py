"""The Transformer of the paper, one part in each module; `variants` has what other models need.

The ten parts are `embeddings`, `positional_encoding`, `masks`, `attention`, `feed_forward`,
`normalization`, `residual`, `encoder`, `decoder` and `projection`. `parts` lists the classes of
which a model is built, `checks` the errors for arguments of a wrong shape.
"""

from clearhead.blocks.attention import (
    MultiHeadAttentionBlock,
    record_attention,
    scaled_dot_product_attention,
)
from clearhead.blocks.decoder import Decoder, DecoderBlock
from clearhead.blocks.embeddings import InputEmbeddings
from clearhead.blocks.encoder import Encoder, EncoderBlock
from clearhead.blocks.feed_forward import FeedForwardBlock
from clearhead.blocks.masks import decoder_mask, look_ahead_mask, padding_mask, shift_right
from clearhead.blocks.normalization import LayerNormalization
from clearhead.blocks.parts import READABLE, Parts
from clearhead.blocks.positional_encoding import PositionalEncoding
from clearhead.blocks.projection import ProjectionLayer
from clearhead.blocks.residual import PostNormResidualConnection, ResidualConnection
from clearhead.blocks.variants.activations import ACTIVATIONS, ActivatedFeedForwardBlock
from clearhead.blocks.variants.biased_normalization import BiasedLayerNormalization
from clearhead.blocks.variants.chapter_3 import MultiHeadAttention, SelfAttention
from clearhead.blocks.variants.embeddings import PlainEmbeddings, TokenDropoutEmbeddings
from clearhead.blocks.variants.heads import Classifier, MaskedLanguageHead, Pooler, TiedProjection
from clearhead.blocks.variants.low_rank import LowRankLinear
from clearhead.blocks.variants.positions import (
    HalvedPositionalEncoding,
    LearnedPositions,
    RotaryMultiHeadAttentionBlock,
    RotaryPositions,
)

__all__ = [
    "ACTIVATIONS", "READABLE", "ActivatedFeedForwardBlock", "BiasedLayerNormalization",
    "Classifier", "Decoder", "DecoderBlock", "Encoder", "EncoderBlock", "FeedForwardBlock",
    "HalvedPositionalEncoding", "InputEmbeddings", "LayerNormalization", "LearnedPositions",
    "LowRankLinear", "MaskedLanguageHead", "MultiHeadAttention", "MultiHeadAttentionBlock", "Parts",
    "PlainEmbeddings", "Pooler", "PositionalEncoding", "PostNormResidualConnection",
    "ProjectionLayer", "ResidualConnection", "RotaryMultiHeadAttentionBlock", "RotaryPositions",
    "SelfAttention", "TiedProjection", "TokenDropoutEmbeddings", "decoder_mask", "look_ahead_mask",
    "padding_mask", "record_attention", "scaled_dot_product_attention", "shift_right",
]  # fmt: skip
