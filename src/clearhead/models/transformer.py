"""The whole machine of the paper's figure 1, put together from `clearhead.blocks`."""

from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn

from clearhead.blocks import READABLE, Decoder, DecoderBlock, Encoder, EncoderBlock, Parts
from clearhead.errors import UserError
from clearhead.models import weights
from clearhead.models.config import TransformerConfig
from clearhead.models.tree import tree


class Transformer(nn.Module):
    """Encoder, decoder, two embeddings with their positions, and the projection.

    The sources' constructor takes the seven parts; `from_config` and
    `build_transformer` make them. One pass of training reads

        memory = model.encode(src, src_mask)                     # (batch, src_len, d_model)
        hidden = model.decode(memory, src_mask, tgt, tgt_mask)   # (batch, tgt_len, d_model)
        log_probabilities = model.project(hidden)                # (batch, tgt_len, vocab)
    """

    config: TransformerConfig

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        src_embed: nn.Module,
        tgt_embed: nn.Module,
        src_pos: nn.Module,
        tgt_pos: nn.Module,
        projection_layer: nn.Module,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.src_pos = src_pos
        self.tgt_pos = tgt_pos
        self.projection_layer = projection_layer

    def encode(self, src: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """(batch, src_len) ids -> (batch, src_len, d_model): each word in its sentence."""
        return self.encoder(self.src_pos(self.src_embed(src)), src_mask)

    def decode(
        self,
        encoder_output: Tensor,
        src_mask: Tensor | None,
        tgt: Tensor,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """(batch, tgt_len) ids of what was said -> (batch, tgt_len, d_model): what comes next."""
        x = self.tgt_pos(self.tgt_embed(tgt))
        return self.decoder(x, encoder_output, src_mask, tgt_mask)

    def project(self, x: Tensor) -> Tensor:
        """(batch, tgt_len, d_model) -> (batch, tgt_len, vocab) log-probabilities."""
        return self.projection_layer(x)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None, tgt_mask: Tensor | None
    ) -> Tensor:
        """Log-probabilities of every next target token, given the true ones before it."""
        return self.project(self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask))

    @classmethod
    def from_config(cls, config: TransformerConfig, parts: Parts = READABLE) -> Self:
        """A freshly initialised model of these sizes, made of these parts."""
        model = cls._assemble(config, parts)
        initialize(model)
        return model

    @classmethod
    def _assemble(cls, config: TransformerConfig, parts: Parts) -> Self:
        model = cls(
            _encoder(config, parts),
            _decoder(config, parts),
            parts.embeddings(config.d_model, config.src_vocab_size),
            parts.embeddings(config.d_model, config.tgt_vocab_size),
            parts.positions(config.d_model, config.src_seq_len, config.dropout),
            parts.positions(config.d_model, config.tgt_seq_len, config.dropout),
            parts.projection(config.d_model, config.tgt_vocab_size),
        )
        model.config = config
        tie_weights(model)
        return model

    @classmethod
    def from_pretrained(cls, directory: str | Path, parts: Parts = READABLE) -> Self:
        """Load config.json and model.safetensors (float32), ready to translate (eval mode)."""
        weights.refuse_a_file(Path(directory))
        config = TransformerConfig.load(Path(directory) / "config.json")
        with torch.random.fork_rng(devices=[]):  # what is drawn here is overwritten
            model = cls._assemble(config, parts)
        weights.load_into(model, Path(directory) / "model.safetensors")
        return model.eval()

    def save_pretrained(self, directory: str | Path, dtype: torch.dtype | None = None) -> None:
        """Write config.json and model.safetensors, in `dtype` if given."""
        if not hasattr(self, "config"):
            raise UserError(
                "this Transformer was put together by hand and has no sizes to save; "
                "make it with build_transformer or Transformer.from_config"
            )
        weights.save(self, self.config.to_json(), Path(directory), dtype)

    def __repr__(self) -> str:
        return tree(self)


def build_transformer(  # noqa: PLR0913 - the sources' signature
    src_vocab_size: int,
    tgt_vocab_size: int,
    src_seq_len: int,
    tgt_seq_len: int,
    d_model: int = 512,
    N: int = 6,
    h: int = 8,
    dropout: float = 0.1,
    d_ff: int = 2048,
) -> Transformer:
    """The paper's base model for these vocabularies and longest sentences."""
    config = TransformerConfig(
        src_vocab_size=src_vocab_size,
        tgt_vocab_size=tgt_vocab_size,
        src_seq_len=src_seq_len,
        tgt_seq_len=tgt_seq_len,
        d_model=d_model,
        encoder_layers=N,
        decoder_layers=N,
        h=h,
        dropout=dropout,
        d_ff=d_ff,
    )
    return Transformer.from_config(config)


def initialize(model: Transformer) -> None:
    """Xavier for matrices, N(0, 1/d_model) for the tables of words.

    A shared table is multiplied by sqrt(d_model) on the way in and not on the way
    out, so this one spread gives unit embeddings *and* unit logits.
    """
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    for embed in (model.src_embed, model.tgt_embed):
        nn.init.normal_(embed.get_parameter("embedding.weight"), std=model.config.d_model**-0.5)
    nn.init.zeros_(model.projection_layer.get_parameter("proj.bias"))


def tie_weights(model: Transformer) -> None:
    """Let source, target and projection share one matrix, if the sizes ask for it."""
    if model.config.tie_embeddings:
        table = model.src_embed.get_parameter("embedding.weight")
        model.tgt_embed.get_submodule("embedding").weight = table
        model.projection_layer.get_submodule("proj").weight = table


def _encoder(config: TransformerConfig, parts: Parts) -> Encoder:
    layers = nn.ModuleList(
        EncoderBlock(
            parts.attention(config.d_model, config.h, config.dropout_of("attention")),
            parts.feed_forward(config.d_model, config.d_ff, config.dropout_of("activation")),
            config.dropout,
            lambda: _residual(config, parts),
        )
        for _ in range(config.encoder_layers)
    )
    return Encoder(layers, _final_norm(config, parts))


def _decoder(config: TransformerConfig, parts: Parts) -> Decoder:
    layers = nn.ModuleList(
        DecoderBlock(
            parts.attention(config.d_model, config.h, config.dropout_of("attention")),
            parts.attention(config.d_model, config.h, config.dropout_of("attention")),
            parts.feed_forward(config.d_model, config.d_ff, config.dropout_of("activation")),
            config.dropout,
            lambda: _residual(config, parts),
        )
        for _ in range(config.decoder_layers)
    )
    return Decoder(layers, _final_norm(config, parts))


def _residual(config: TransformerConfig, parts: Parts) -> nn.Module:
    kind = parts.residual if config.norm == "pre" else parts.post_norm_residual
    return kind(config.dropout, parts.normalization(config.d_model))


def _final_norm(config: TransformerConfig, parts: Parts) -> nn.Module:
    return parts.normalization(config.d_model) if config.norm == "pre" else nn.Identity()
