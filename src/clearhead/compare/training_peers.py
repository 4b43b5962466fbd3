"""Other implementations of the same Transformer, as modules from ids to logits.

Each has our hyperparameters. torch.nn and Marian compute the same function as ours once the
weights are copied; x-transformers differs in its biases and positions.
"""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import PositionalEncoding, shift_right
from clearhead.compare.timing import library
from clearhead.models import TransformerConfig


def peer_loss(
    model: nn.Module, config: TransformerConfig, source: Tensor, labels: Tensor, smoothing: float
) -> Tensor:
    """Label-smoothed cross-entropy, the mean over the target tokens.

    Shape: source (batch, src_len), labels (batch, tgt_len) -> ()
    """
    logits = model(source, shift_right(labels, config.bos_id))
    return F.cross_entropy(
        logits.flatten(0, 1),  # (batch, tgt_len, vocab) -> (batch · tgt_len, vocab)
        labels.flatten(),
        ignore_index=config.pad_id,
        label_smoothing=smoothing,
    )


class TorchTransformer(nn.Module):
    """`torch.nn.Transformer`, pre-norm, with the embeddings and projection that it leaves out.

    Targets need no padding mask: padding is at the end, where the causal mask hides it from all
    real positions, and without the mask torch can use its causal kernel.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad_id, self.scale = config.pad_id, math.sqrt(config.d_model)
        self.src_embed = nn.Embedding(config.src_vocab_size, config.d_model)
        self.tgt_embed = nn.Embedding(config.tgt_vocab_size, config.d_model)
        self.position = PositionalEncoding(config.d_model, config.src_seq_len, config.dropout)
        self.transformer = nn.Transformer(
            config.d_model,
            config.h,
            config.encoder_layers,
            config.decoder_layers,
            config.d_ff,
            config.dropout,
            norm_first=True,
            batch_first=True,
            custom_encoder=_torch_encoder(config),
        )
        self.proj = nn.Linear(config.d_model, config.tgt_vocab_size)
        if config.tie_embeddings:
            self.tgt_embed.weight = self.proj.weight = self.src_embed.weight

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(batch, src_len), (batch, tgt_len) ids -> (batch, tgt_len, vocab) logits."""
        hidden = src == self.pad_id  # torch's convention: True = hidden
        causal = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1], tgt.device)
        x = self.transformer(
            self.position(self.src_embed(src) * self.scale),
            self.position(self.tgt_embed(tgt) * self.scale),
            tgt_mask=causal,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return self.proj(x)


def _torch_encoder(config: TransformerConfig) -> nn.TransformerEncoder:
    """As `nn.Transformer` builds it, but without nested tensors, which pre-norm cannot use."""
    layer = nn.TransformerEncoderLayer(
        config.d_model, config.h, config.d_ff, config.dropout, norm_first=True, batch_first=True
    )
    norm = nn.LayerNorm(config.d_model)
    return nn.TransformerEncoder(layer, config.encoder_layers, norm, enable_nested_tensor=False)


class Marian(nn.Module):
    """`MarianMTModel` of transformers; post-norm, with a constant bias in its projection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad_id = config.pad_id
        transformers = library("transformers")
        tied = ("share_encoder_decoder_embeddings", "tie_word_embeddings")
        sizes = library("clearhead.export.huggingface").sizes(config)
        own = {"vocab_size": config.src_vocab_size} | dict.fromkeys(tied, config.tie_embeddings)
        self.inner = transformers.MarianMTModel(transformers.MarianConfig(**sizes | own))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(batch, src_len), (batch, tgt_len) ids -> (batch, tgt_len, vocab) logits."""
        return self.inner(
            input_ids=src,
            attention_mask=(src != self.pad_id).long(),
            decoder_input_ids=tgt,
            use_cache=False,
        ).logits


class XTransformer(nn.Module):
    """`x_transformers.XTransformer`; its attention has no biases, its positions are learned."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad_id = config.pad_id
        encoder = (config.src_vocab_size, config.src_seq_len, config.encoder_layers)
        decoder = (config.tgt_vocab_size, config.tgt_seq_len, config.decoder_layers)
        self.inner = library("x_transformers").XTransformer(
            dim=config.d_model,
            tie_token_emb=config.tie_embeddings,
            pad_value=config.pad_id,
            **_x_stack("enc", config, encoder),
            **_x_stack("dec", config, decoder),
        )

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(batch, src_len), (batch, tgt_len) ids -> (batch, tgt_len, vocab) logits."""
        mask = src != self.pad_id
        memory = self.inner.encoder(src, mask=mask, return_embeddings=True)
        # Not through its training wrapper, whose loss has no label smoothing.
        return self.inner.decoder.net(tgt, context=memory, context_mask=mask)


def _x_stack(
    prefix: str, config: TransformerConfig, sizes: tuple[int, int, int]
) -> dict[str, object]:
    options: dict[str, object] = {
        **dict(zip(("num_tokens", "max_seq_len", "depth"), sizes, strict=True)),
        "heads": config.h,
        "attn_dim_head": config.d_model // config.h,
        "ff_mult": config.d_ff / config.d_model,
        "ff_custom_activation": nn.ReLU(),
        "emb_dropout": config.dropout,
        "attn_dropout": config.dropout_of("attention"),
        "ff_dropout": config.dropout_of("activation"),
        "attn_sublayer_dropout": config.dropout,
        "ff_sublayer_dropout": config.dropout,
    }
    return {f"{prefix}_{key}": value for key, value in options.items()}
