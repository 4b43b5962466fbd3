"""The paper, one part a file, under the names its teaching literature uses."""

from clearhead.blocks.activated_feed_forward import ActivatedFeedForwardBlock
from clearhead.blocks.activations import ACTIVATIONS
from clearhead.blocks.attention import MultiHeadAttentionBlock, scaled_dot_product_attention
from clearhead.blocks.biased_normalization import BiasedLayerNormalization
from clearhead.blocks.chapter_3 import MultiHeadAttention, SelfAttention
from clearhead.blocks.decoder import Decoder, DecoderBlock
from clearhead.blocks.embeddings import InputEmbeddings
from clearhead.blocks.encoder import Encoder, EncoderBlock
from clearhead.blocks.feed_forward import FeedForwardBlock
from clearhead.blocks.halved_positions import HalvedPositionalEncoding
from clearhead.blocks.heads import Classifier, MaskedLanguageHead, Pooler
from clearhead.blocks.learned_positions import LearnedPositions
from clearhead.blocks.low_rank import LowRankLinear
from clearhead.blocks.masks import decoder_mask, look_ahead_mask, padding_mask, shift_right
from clearhead.blocks.normalization import LayerNormalization
from clearhead.blocks.parts import READABLE, Parts
from clearhead.blocks.plain_embeddings import PlainEmbeddings
from clearhead.blocks.positional_encoding import PositionalEncoding
from clearhead.blocks.projection import ProjectionLayer
from clearhead.blocks.residual import PostNormResidualConnection, ResidualConnection
from clearhead.blocks.rotary import RotaryMultiHeadAttentionBlock, RotaryPositions
from clearhead.blocks.tied_projection import TiedProjection
from clearhead.blocks.token_dropout import TokenDropoutEmbeddings

__all__ = [
    "ACTIVATIONS",
    "READABLE",
    "ActivatedFeedForwardBlock",
    "BiasedLayerNormalization",
    "Classifier",
    "Decoder",
    "DecoderBlock",
    "Encoder",
    "EncoderBlock",
    "FeedForwardBlock",
    "HalvedPositionalEncoding",
    "InputEmbeddings",
    "LayerNormalization",
    "LearnedPositions",
    "LowRankLinear",
    "MaskedLanguageHead",
    "MultiHeadAttention",
    "MultiHeadAttentionBlock",
    "Parts",
    "PlainEmbeddings",
    "Pooler",
    "PositionalEncoding",
    "PostNormResidualConnection",
    "ProjectionLayer",
    "ResidualConnection",
    "RotaryMultiHeadAttentionBlock",
    "RotaryPositions",
    "SelfAttention",
    "TiedProjection",
    "TokenDropoutEmbeddings",
    "decoder_mask",
    "look_ahead_mask",
    "padding_mask",
    "scaled_dot_product_attention",
    "shift_right",
]
