"""Marian: the Transformer of OPUS-MT, with other blocks (Junczys-Dowmunt et al. 2018)."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn, Self

from torch import nn

from clearhead import blocks
from clearhead.errors import UserError
from clearhead.models.config import TransformerConfig
from clearhead.models.stack import check_activation, initialize_normal
from clearhead.models.transformer import Transformer


@dataclass(frozen=True)
class MarianConfig(TransformerConfig):
    """The sizes of a Marian. Decoding begins with the padding token, which is never generated."""

    norm: Literal["pre", "post"] = "post"
    activation: str = "swish"
    attention_dropout: float | None = 0.0
    activation_dropout: float | None = 0.0
    scale_embedding: bool = True
    initial_std: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        check_activation(self.activation)

    @property
    def parameters(self) -> int:
        """Learned elements; the projection shares the target's embedding."""
        own = 0 if self.tie_embeddings else self.tgt_vocab_size
        return super().parameters - self.d_model * own

    def parts(self) -> blocks.Parts:
        """Its blocks; those that are not named are the paper's."""
        activation = blocks.ACTIVATIONS[self.activation]
        return replace(
            blocks.READABLE,
            embeddings=blocks.InputEmbeddings if self.scale_embedding else blocks.PlainEmbeddings,
            positions=blocks.HalvedPositionalEncoding,
            normalization=blocks.BiasedLayerNormalization,
            feed_forward=lambda d_model, d_ff, dropout: blocks.ActivatedFeedForwardBlock(
                d_model, d_ff, dropout, activation
            ),
        )


class Marian(Transformer):
    """Encoder and decoder as in the paper's figure 1: post-norm, so without final norms.

    It is used as any other `Transformer`. The projection shares the target's embedding matrix;
    its bias is called ``final_logits_bias`` in the files of the hub.
    """

    config: MarianConfig

    @classmethod
    def assemble(cls, config: MarianConfig) -> Self:
        """A model of these sizes with torch's initial values; the projection's bias is 0."""
        model = cls._assemble(config, config.parts())
        projection = model.projection_layer.get_submodule("proj")
        projection.weight = model.tgt_embed.get_parameter("embedding.weight")
        nn.init.zeros_(projection.get_parameter("bias"))
        return model

    @classmethod
    def from_config(cls, config: MarianConfig) -> Self:  # type: ignore[override]
        """A freshly initialized model of these sizes."""
        model = cls.assemble(config)
        initialize_normal(model, config.initial_std)
        return model

    @classmethod
    def from_pretrained(cls, directory: str | Path) -> NoReturn:  # type: ignore[override]
        """Refused: its files have another layout."""
        raise UserError(_ELSEWHERE.format("from_pretrained"))

    def save_pretrained(self, directory: str | Path, dtype: object = None) -> NoReturn:
        """Refused: its files have another layout."""
        raise UserError(_ELSEWHERE.format("save_pretrained"))


_ELSEWHERE = "Marian's files are those of Hugging Face; use clearhead.pretrained.{}"
