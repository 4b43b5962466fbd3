"""What BERT, GPT-2 and ESM-2 have in common: sizes, and a stack of encoder blocks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import nn

from clearhead.blocks import (
    ACTIVATIONS,
    ActivatedFeedForwardBlock,
    BiasedLayerNormalization,
    EncoderBlock,
    MultiHeadAttentionBlock,
)
from clearhead.blocks.encoder import MakeResidual
from clearhead.errors import UserError
from clearhead.models.checks import check_numbers


@dataclass(frozen=True)
class StackConfig:
    """The sizes of a model that is one stack; names as in `TransformerConfig`.

    Raises:
        UserError: a number or a name that does not do.
    """

    vocab_size: int
    seq_len: int = 512  # longest text, in tokens, signs included
    d_model: int = 768
    layers: int = 12
    h: int = 12
    d_ff: int = 3072
    dropout: float = 0.1
    attention_dropout: float = 0.1
    activation: str = "gelu"  # one of `ACTIVATIONS`
    eps: float = 1e-12  # of the norms
    initial_std: float = 0.02
    pad_id: int | None = 0
    heads: tuple[str, ...] = ()  # what stands on the stack; each model names its own
    labels: int = 2  # of a classifier

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.activation not in ACTIVATIONS:
            raise UserError(
                f"activation={self.activation!r} is not known; give one of {', '.join(ACTIVATIONS)}"
            )

    def norm(self) -> nn.Module:
        """A norm of this width."""
        return BiasedLayerNormalization(self.d_model, self.eps)

    def attention(self) -> nn.Module:
        """Attention of this width."""
        return MultiHeadAttentionBlock(self.d_model, self.h, self.attention_dropout)

    def feed_forward(self) -> nn.Module:
        """A feed-forward block of this width; what it drops out, its residual connection does."""
        activation = ACTIVATIONS[self.activation]
        return ActivatedFeedForwardBlock(self.d_model, self.d_ff, 0.0, activation)


def stack(
    config: StackConfig,
    make_residual: MakeResidual,
    make_attention: Callable[[], nn.Module] | None = None,
) -> nn.ModuleList:
    """As many encoder blocks as the sizes say, of these residual connections and attentions."""
    make_attention = make_attention or config.attention
    return nn.ModuleList(
        EncoderBlock(make_attention(), config.feed_forward(), config.dropout, make_residual)
        for _ in range(config.layers)
    )


def choose_heads(
    wanted: tuple[str, ...], makers: Mapping[str, Callable[[], nn.Module]]
) -> nn.ModuleDict:
    """The heads that a configuration asks for, each by its name.

    Raises:
        UserError: there is no head of that name.
    """
    for name in wanted:
        if name not in makers:
            raise UserError(f"there is no head {name!r}; choose from {', '.join(makers)}")
    return nn.ModuleDict({name: makers[name]() for name in wanted})
