"""Encoder, decoder and the whole model, with and without the library's residual connections."""

ENCODER_BLOCK = """
from torch import nn
from clearhead.blocks import LayerNormalization

class EncoderBlock(nn.Module):
    def __init__(self, self_attn, ffn, dropout):
        super().__init__()
        self.self_attn, self.ffn = self_attn, ffn
        self.norm1, self.norm2 = LayerNormalization(), LayerNormalization()
        self.drop = nn.Dropout(dropout)

    def forward(self, x, src_mask):
        n = self.norm1(x)
        x = x + self.drop(self.self_attn(n, n, n, src_mask))
        return x + self.drop(self.ffn(self.norm2(x)))
"""
SEED_ENCODER_BLOCK = """
import torch.nn as nn
from clearhead.blocks import ResidualConnection

class EncoderBlock(nn.Module):
    def __init__(self, self_attention_block, feed_forward_block, dropout: float) -> None:
        super().__init__()
        self.self_attention_block = self_attention_block
        self.feed_forward_block = feed_forward_block
        self.residual_connections = nn.ModuleList([ResidualConnection(dropout) for _ in range(2)])

    def forward(self, x, src_mask):
        x = self.residual_connections[0](x, lambda x: self.self_attention_block(x, x, x, src_mask))
        x = self.residual_connections[1](x, self.feed_forward_block)
        return x
"""
POST_NORM = """
from torch import nn
from clearhead.blocks import LayerNormalization

class EncoderBlock(nn.Module):
    def __init__(self, self_attn, ffn, dropout):
        super().__init__()
        self.self_attn, self.ffn = self_attn, ffn
        self.norm1, self.norm2 = LayerNormalization(), LayerNormalization()
        self.drop = nn.Dropout(dropout)

    def forward(self, x, src_mask):
        x = self.norm1(x + self.drop(self.self_attn(x, x, x, src_mask)))
        return self.norm2(x + self.drop(self.ffn(x)))
"""
ENCODER = """
import torch.nn as nn
from functools import reduce
from clearhead.blocks import LayerNormalization

class Encoder(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.blocks = layers
        self.final = LayerNormalization()

    def forward(self, x, mask=None):
        return self.final(reduce(lambda y, block: block(y, mask), self.blocks, x))
"""
DECODER_BLOCK = """
from torch import nn
from clearhead.blocks import LayerNormalization

class DecoderBlock(nn.Module):
    def __init__(self, self_attn, cross_attn, ffn, dropout):
        super().__init__()
        self.self_attn, self.cross_attn, self.ffn = self_attn, cross_attn, ffn
        self.norm1, self.norm2 = LayerNormalization(), LayerNormalization()
        self.norm3 = LayerNormalization()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, tgt_mask):
        y = self.norm1(x)
        x = x + self.dropout(self.self_attn(y, y, y, tgt_mask))
        y = self.norm2(x)
        x = x + self.dropout(self.cross_attn(y, memory, memory, src_mask))
        return x + self.dropout(self.ffn(self.norm3(x)))
"""
DECODER = """
import torch.nn as nn
from clearhead.blocks import LayerNormalization

class Decoder(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers
        self.norm = LayerNormalization()

    def forward(self, x, encoder_output, src_mask, tgt_mask):
        for i in range(len(self.layers)):
            x = self.layers[i](x, encoder_output, src_mask, tgt_mask)
        return self.norm(x)
"""
SEED_MODEL = """
import torch.nn as nn

class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, src_pos, tgt_pos, projection_layer):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.src_pos = src_pos
        self.tgt_pos = tgt_pos
        self.projection_layer = projection_layer

    def encode(self, src, src_mask):
        src = self.src_embed(src)
        src = self.src_pos(src)
        return self.encoder(src, src_mask)

    def decode(self, encoder_output, src_mask, tgt, tgt_mask):
        tgt = self.tgt_embed(tgt)
        tgt = self.tgt_pos(tgt)
        return self.decoder(tgt, encoder_output, src_mask, tgt_mask)

    def project(self, x):
        return self.projection_layer(x)
"""

RIGHT = [
    ("encoder-block", ENCODER_BLOCK),
    ("encoder-block", SEED_ENCODER_BLOCK),
    ("encoder", ENCODER),
    ("decoder-block", DECODER_BLOCK),
    ("decoder", DECODER),
    ("encode-decode", SEED_MODEL),
]

WRONG = [
    ("encoder-block", POST_NORM, "post-norm"),
    ("encoder-block", ENCODER_BLOCK.replace("n, n, n, src_mask", "n, n, n, None"), "mask-ignored"),
    ("encoder-block", ENCODER_BLOCK.replace("self_attn(n, n, n, src_mask)",
     "self_attn(x, x, x, src_mask)"), "attention-of-the-raw-input"),
    ("encoder-block", ENCODER_BLOCK.replace("x = x + self.drop(self.self", "x = self.drop(self.self"),
     "attention-not-added"),
    ("encoder-block", ENCODER_BLOCK.replace("self.norm2(x)", "self.norm1(x)"),
     "one-connection-for-both"),
    ("encoder-block", SEED_ENCODER_BLOCK.replace("self.residual_connections[1](x, self",
     "self.residual_connections[0](x, self"), "one-connection-for-both"),
    ("encoder-block", ENCODER_BLOCK.replace("self.ffn(self.norm2(x))", "self.ffn(x)"),
     "feed-forward-not-normalized"),
    ("encoder", ENCODER.replace("self.final(reduce(", "(reduce("), "final-norm-forgotten"),
    ("encoder", ENCODER.replace("block(y, mask)", "block(y)"), "mask-ignored"),
    ("decoder-block", DECODER_BLOCK.replace("self.cross_attn(y, memory, memory, src_mask)",
     "self.cross_attn(y, y, memory, src_mask)"), "keys-from-the-decoder"),
    ("decoder-block", DECODER_BLOCK.replace("tgt_mask)", "src_mask)").replace(
     "memory, memory, src_mask", "memory, memory, tgt_mask").replace(
     "(self, x, memory, src_mask, src_mask)", "(self, x, memory, src_mask, tgt_mask)"),
     "masks-swapped"),
    ("decoder-block", DECODER_BLOCK.replace("self.cross_attn(y, memory, memory, src_mask)",
     "self.cross_attn(y, y, y, tgt_mask)"), "cross-attention-to-itself"),
    ("decoder-block", DECODER_BLOCK.replace("y, y, y, tgt_mask", "y, y, y, None"),
     "target-mask-ignored"),
    ("decoder", DECODER.replace("return self.norm(x)", "return x"), "final-norm-forgotten"),
    ("decoder", DECODER.replace("            x = self.layers[i](x, enc", "            y = self.layers[i](x, enc")
     .replace("self.norm(x)", "self.norm(y)"), "only-the-last-layer"),
    ("encode-decode", SEED_MODEL.replace("tgt = self.tgt_embed(tgt)", "tgt = self.src_embed(tgt)"),
     "target-embedded-as-source"),
    ("encode-decode", SEED_MODEL.replace("        src = self.src_pos(src)\n", ""),
     "source-positions-forgotten"),
    ("encode-decode", SEED_MODEL.replace("encoder_output, src_mask, tgt_mask)\n\n    def project",
     "encoder_output, tgt_mask, src_mask)\n\n    def project"), "masks-swapped"),
]  # fmt: skip
