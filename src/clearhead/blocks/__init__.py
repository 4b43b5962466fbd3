"""The paper, one part a file, under the names its teaching literature uses."""

from clearhead.blocks.attention import MultiHeadAttentionBlock, scaled_dot_product_attention
from clearhead.blocks.chapter_3 import MultiHeadAttention, SelfAttention
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

__all__ = [
    "READABLE",
    "Decoder",
    "DecoderBlock",
    "Encoder",
    "EncoderBlock",
    "FeedForwardBlock",
    "InputEmbeddings",
    "LayerNormalization",
    "MultiHeadAttention",
    "MultiHeadAttentionBlock",
    "Parts",
    "PositionalEncoding",
    "PostNormResidualConnection",
    "ProjectionLayer",
    "ResidualConnection",
    "SelfAttention",
    "decoder_mask",
    "look_ahead_mask",
    "padding_mask",
    "scaled_dot_product_attention",
    "shift_right",
]
