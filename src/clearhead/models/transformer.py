"""The Transformer of the paper's figure 1, assembled from `clearhead.blocks`."""

from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn

from clearhead.blocks import READABLE, Decoder, DecoderBlock, Encoder, EncoderBlock, Parts
from clearhead.blocks.checks import check_decode, check_ids, check_not_flat
from clearhead.errors import UserError
from clearhead.models import weights
from clearhead.models.architecture import tree, warn_of_difference
from clearhead.models.config import TransformerConfig, check_memory


class Transformer(nn.Module):
    """Encoder, decoder, two embeddings with their positions, and the projection.

    The constructor takes these seven parts, as in the sources; `from_config` and
    `build_transformer` create them. A training step computes

        memory = model.encode(src, src_mask)                     # (batch, src_len, d_model)
        hidden = model.decode(memory, src_mask, tgt, tgt_mask)   # (batch, tgt_len, d_model)
        log_probabilities = model.project(hidden)                # (batch, tgt_len, vocab)

    `forward` is these three lines. All masks are optional; `clearhead.blocks.masks` makes them:
    ``padding_mask(src, pad_id)`` for src_mask, ``decoder_mask(tgt, pad_id)`` for tgt_mask.

    Shape:
        src: (batch, src_len) ids, tgt: (batch, tgt_len) ids, shifted right by one position;
        src_mask: (batch, 1, 1, src_len), tgt_mask: (batch, 1, tgt_len, tgt_len), True = visible
        -> (batch, tgt_len, vocab) log-probabilities

    Raises:
        UserError: an argument has another shape or dtype, an id is outside the vocabulary, or a
            sequence is longer than the positions.
    """

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
        self._config: TransformerConfig | None = None

    @property
    def config(self) -> TransformerConfig:
        """The sizes and ids of which the model was built; of one assembled by hand, set them."""
        if self._config is None:
            raise UserError(
                "this Transformer was assembled by hand and has no config; create it with "
                "build_transformer, or set model.config = TransformerConfig(...) of its sizes"
            )
        return self._config

    @config.setter
    def config(self, config: TransformerConfig) -> None:
        self._config = config

    def encode(self, src: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """(batch, src_len) ids -> (batch, src_len, d_model): the encoder's output, or memory."""
        check_ids("src", src)
        check_not_flat("src_mask", src_mask)
        return self.encoder(self.src_pos(self.src_embed(src)), src_mask)

    def decode(
        self,
        encoder_output: Tensor,
        src_mask: Tensor | None,
        tgt: Tensor,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """(batch, tgt_len) ids -> (batch, tgt_len, d_model), from which `project` predicts.

        encoder_output: (batch, src_len, d_model), as `encode` returns it. Position i predicts
        the target token after position i.
        """
        check_decode(encoder_output, src_mask, tgt)
        x = self.tgt_pos(self.tgt_embed(tgt))
        return self.decoder(x, encoder_output, src_mask, tgt_mask)

    def project(self, x: Tensor) -> Tensor:
        """(batch, tgt_len, d_model) -> (batch, tgt_len, vocab) log-probabilities."""
        return self.projection_layer(x)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """Log-probabilities of each next target token, given the tokens before it."""
        return self.project(self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask))

    @classmethod
    def from_config(cls, config: TransformerConfig, parts: Parts = READABLE) -> Self:
        """A newly initialized model of these sizes, built of these parts."""
        model = cls._assemble(config, parts)
        initialize(model)
        return model

    @classmethod
    def _assemble(cls, config: TransformerConfig, parts: Parts) -> Self:
        if torch.get_default_device().type != "meta":  # which allocates nothing
            check_memory(config)
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
        """Load config.json and model.safetensors (float32), ready to translate (eval mode).

        The files do not name the parts; give those of the saved model.
        """
        weights.refuse_a_file(Path(directory))
        config = TransformerConfig.load(Path(directory) / "config.json")
        weights.check_size(config, Path(directory) / "model.safetensors")
        with torch.random.fork_rng(devices=[]):  # what is drawn here is overwritten
            model = cls._assemble(config, parts)
        weights.load_into(model, Path(directory) / "model.safetensors")
        return model.eval()

    def save_pretrained(self, directory: str | Path, dtype: torch.dtype | None = None) -> None:
        """Write config.json and model.safetensors, in `dtype` if given.

        A warning is logged if the model has other parts than `READABLE`, since config.json does
        not name them: `from_pretrained` needs them as an argument.

        Raises:
            UserError: the model is not what its `config` describes, say after `adapt`, a weight
                is NaN or infinite, or `dtype` is not one of floats.
        """
        described = weights.check_described(
            self, lambda: Transformer._assemble(self.config, READABLE)
        )
        weights.save(self, self.config.to_json(), Path(directory), dtype)
        advice = "load the saved model with Transformer.from_pretrained(directory, parts)"
        warn_of_difference(self, described, advice)

    __repr__ = tree


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
    """A Transformer with the call of the teaching sources.

    The default sizes are those of the paper's base model (table 3). Unlike the paper, each sublayer
    is pre-norm, ``x + Dropout(Sublayer(Norm(x)))``, with a final norm in both stacks, as the
    sources write it; each norm has one alpha and one bias for each feature; dropout also applies
    to attention weights and inside the feed-forward networks; and the three embedding matrices
    are separate. For post-norm, as in the paper's figure 1, use
    ``Transformer.from_config(TransformerConfig(..., norm="post"))``.

        model = build_transformer(8000, 8000, 100, 100)
        log_probabilities = model(src, tgt, src_mask, tgt_mask)

    Args:
        src_vocab_size: number of tokens of the source vocabulary.
        tgt_vocab_size: number of tokens of the target vocabulary.
        src_seq_len: number of source positions, the longest source in tokens.
        tgt_seq_len: number of target positions.
        d_model: width of embeddings and hidden vectors.
        N: number of encoder blocks, and of decoder blocks.
        h: number of attention heads; d_model / h must be a whole number, the head width d_k.
        dropout: dropout rate.
        d_ff: inner width of the feed-forward networks.

    Returns:
        A newly initialized model in training mode: matrices by Xavier's uniform distribution,
        embeddings by N(0, 1 / d_model). `Transformer` documents its calls and shapes.

    Raises:
        UserError: a size that is not a positive whole number, or h does not divide d_model.

    Source: Vaswani et al. 2017, figure 1 and table 3; the signature is that of the step-by-step
    guide and of hkproj/pytorch-transformer.
    """
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
    """Xavier's uniform distribution for matrices, N(0, 1/d_model) for embedding matrices.

    A shared embedding matrix is multiplied by sqrt(d_model) in the embedding and not in the
    projection, so this standard deviation gives both embeddings and logits of unit scale.
    """
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    for module in (*model.src_embed.modules(), *model.tgt_embed.modules()):
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=model.config.d_model**-0.5)
    for module in model.projection_layer.modules():
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


def tie_weights(model: Transformer) -> None:
    """Let source, target and projection share one matrix, if `tie_embeddings` is set."""
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
