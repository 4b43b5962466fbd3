"""Marian: the translator itself, of other parts (Junczys-Dowmunt et al. 2018; OPUS-MT)."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn, Self

from torch import nn

from clearhead.blocks import (
    ACTIVATIONS,
    READABLE,
    ActivatedFeedForwardBlock,
    BiasedLayerNormalization,
    HalvedPositionalEncoding,
    InputEmbeddings,
    Parts,
    PlainEmbeddings,
)
from clearhead.errors import UserError
from clearhead.models.config import TransformerConfig
from clearhead.models.normal_initialization import initialize_normal
from clearhead.models.transformer import Transformer


@dataclass(frozen=True)
class MarianConfig(TransformerConfig):
    """The sizes of a Marian. Writing begins with the padding sign, which is never written."""

    norm: Literal["pre", "post"] = "post"
    activation: str = "swish"
    attention_dropout: float | None = 0.0
    activation_dropout: float | None = 0.0
    scale_embedding: bool = True
    initial_std: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.activation not in ACTIVATIONS:
            raise UserError(
                f"activation={self.activation!r} is not known; give one of {', '.join(ACTIVATIONS)}"
            )

    def parts(self) -> Parts:
        """What it is made of where the translator is made of something else."""
        curve = ACTIVATIONS[self.activation]
        return replace(
            READABLE,
            embeddings=InputEmbeddings if self.scale_embedding else PlainEmbeddings,
            positions=HalvedPositionalEncoding,
            normalization=BiasedLayerNormalization,
            feed_forward=lambda d_model, d_ff, dropout: ActivatedFeedForwardBlock(
                d_model, d_ff, dropout, curve
            ),
        )


class Marian(Transformer):
    """Encoder and decoder as in the paper's figure 1: post-norm, so without last norms.

    It is called, and decoded from, as every `Transformer`. The projection's matrix is the
    target's table of embeddings; its bias is what their files call ``final_logits_bias``.
    """

    config: MarianConfig

    @classmethod
    def assemble(cls, config: MarianConfig) -> Self:
        """A model of these sizes with whatever numbers torch puts in; biases of words are 0."""
        model = cls._assemble(config, config.parts())
        projection = model.projection_layer.get_submodule("proj")
        projection.weight = model.tgt_embed.get_parameter("embedding.weight")
        nn.init.zeros_(projection.get_parameter("bias"))
        return model

    @classmethod
    def from_config(cls, config: MarianConfig) -> Self:  # type: ignore[override]
        """A freshly initialised model of these sizes."""
        model = cls.assemble(config)
        initialize_normal(model, config.initial_std)
        return model

    @classmethod
    def from_pretrained(cls, directory: str | Path) -> NoReturn:  # type: ignore[override]
        """Its files have another layout than the translator's."""
        raise UserError(_ELSEWHERE.format("from_pretrained"))

    def save_pretrained(self, directory: str | Path) -> NoReturn:  # type: ignore[override]
        """Its files have another layout than the translator's."""
        raise UserError(_ELSEWHERE.format("save_pretrained"))


_ELSEWHERE = "Marian's files are those of Hugging Face; use clearhead.pretrained.{}"
