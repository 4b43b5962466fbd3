"""What BERT, GPT-2 and ESM-2 have in common: sizes, a stack of encoder blocks, initialization."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import nn

from clearhead import blocks
from clearhead.blocks.encoder import MakeResidual
from clearhead.errors import UserError
from clearhead.models.config import check_numbers


@dataclass(frozen=True)
class StackConfig:
    """The sizes of a model that is one stack; names as in `TransformerConfig`.

    Raises:
        UserError: a value outside its range, or an unknown name.
    """

    vocab_size: int
    seq_len: int = 512  # longest text, in tokens, special tokens included
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
    heads: tuple[str, ...] = ()  # each model has its own names
    labels: int = 2  # of a classifier

    def __post_init__(self) -> None:
        check_numbers(self)
        for name in ("pad_id", "mask_id"):
            if (getattr(self, name, None) or 0) >= self.vocab_size:
                found = f"{name}={getattr(self, name)} is not in the vocabulary"
                raise UserError(f"{found}; give an id from 0 to {self.vocab_size - 1}")
        check_activation(self.activation)

    @property
    def parameters(self) -> int:
        """Learned elements, without positions, biases, norms and heads."""
        layers = self.layers * (4 * self.d_model + 2 * self.d_ff)
        return self.d_model * (self.vocab_size + layers)

    @property
    def tables(self) -> int:
        """Elements of positions, and of a classifier."""
        return self.d_model * (self.seq_len + self.labels)

    def norm(self) -> nn.Module:
        """A norm of this width."""
        return blocks.BiasedLayerNormalization(self.d_model, self.eps)

    def attention(self) -> nn.Module:
        """Attention of this width."""
        return blocks.MultiHeadAttentionBlock(self.d_model, self.h, self.attention_dropout)

    def feed_forward(self) -> nn.Module:
        """A feed-forward block of this width; dropout is that of its residual connection."""
        activation = blocks.ACTIVATIONS[self.activation]
        return blocks.ActivatedFeedForwardBlock(self.d_model, self.d_ff, 0.0, activation)


def check_activation(name: str) -> None:
    """Refuse the name of an activation function that `ACTIVATIONS` lacks."""
    if name not in blocks.ACTIVATIONS:
        known = ", ".join(blocks.ACTIVATIONS)
        raise UserError(f"activation={name!r} is not known; give one of {known}")


def stack(
    config: StackConfig,
    make_residual: MakeResidual,
    make_attention: Callable[[], nn.Module] | None = None,
) -> nn.ModuleList:
    """`layers` encoder blocks with these residual connections and attention blocks."""
    make_attention = make_attention or config.attention
    return nn.ModuleList(
        blocks.EncoderBlock(make_attention(), config.feed_forward(), config.dropout, make_residual)
        for _ in range(config.layers)
    )


def choose_heads(
    wanted: tuple[str, ...], makers: Mapping[str, Callable[[], nn.Module]]
) -> nn.ModuleDict:
    """The heads of a configuration by name, in the order of `makers`.

    Raises:
        UserError: there is no head of that name.
    """
    for name in wanted:
        if name not in makers:
            raise UserError(f"there is no head {name!r}; choose from {', '.join(makers)}")
    return nn.ModuleDict({name: make() for name, make in makers.items() if name in wanted})


def initialize_normal(model: nn.Module, std: float) -> None:
    """N(0, std²) for matrices and embeddings, 0 for biases; norms stay the identity.

    Source: Radford et al. 2018, section 4.1, with std = 0.02. The code of BERT and of GPT-2 has the
    same value.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=std)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


def shrink_what_is_added(model: nn.Module, std: float, layers: int) -> None:
    """Draw the output matrices of all sublayers anew, with std / sqrt(2 · layers).

    There are 2 · layers sublayers, so at initialization the variance of what they add to the
    residual stream does not grow with the depth.

    Source: the GPT-2 paper, section 2.3.
    """
    for name, parameter in model.named_parameters():
        if name.endswith(("w_o.weight", "linear_2.weight")):
            nn.init.normal_(parameter, std=std / math.sqrt(2 * layers))
