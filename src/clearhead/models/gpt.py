"""GPT-2: a decoder that is trained to predict the next token (Radford et al. 2019)."""

from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn

from clearhead import blocks
from clearhead.blocks.checks import check_text
from clearhead.blocks.masks import as_boolean
from clearhead.models.architecture import tree
from clearhead.models.config import check_memory
from clearhead.models.stack import (
    StackConfig,
    choose_heads,
    initialize_normal,
    shrink_what_is_added,
    stack,
)


@dataclass(frozen=True)
class GptConfig(StackConfig):
    """The sizes of a GPT-2; the defaults are the small one."""

    seq_len: int = 1024
    activation: str = "gelu_new"
    eps: float = 1e-5
    embedding_dropout: float = 0.1
    pad_id: int | None = None  # it was trained without padding
    bos_id: int | None = 50256
    eos_id: int | None = 50256


class Gpt(nn.Module):
    """Every token attends to the tokens up to it, and predicts the next one.

        hidden = model(ids)            # (batch, seq_len, d_model)
        logits = model.logits(hidden)  # (batch, seq_len, vocab): of the next tokens

    Without a source there is no cross-attention, and a decoder block without cross-attention is
    an encoder block: only the look-ahead mask makes it causal. Hence ``decoder`` is an `Encoder`.
    The head ``token`` gives scores of each token's labels from hidden states.

    Shape:
        ids: (batch, seq_len), mask: (batch, 1, 1, seq_len), True = no padding
        -> (batch, seq_len, d_model)

    Raises:
        UserError: the text is longer than `seq_len`, or an id is not in the vocabulary.
    """

    def __init__(self, config: GptConfig) -> None:
        super().__init__()
        check_memory(config)
        self.config = config
        self.embed = blocks.PlainEmbeddings(config.d_model, config.vocab_size)
        self.positions = blocks.LearnedPositions(
            config.d_model, config.seq_len, config.embedding_dropout
        )
        layers = stack(config, lambda: blocks.ResidualConnection(config.dropout, config.norm()))
        self.decoder = blocks.Encoder(layers, config.norm())
        self.projection_layer = blocks.TiedProjection(self.embed.embedding)
        makers = {"token": lambda: blocks.Classifier(config.d_model, config.labels, config.dropout)}
        self.heads = choose_heads(config.heads, makers)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """The last hidden states: position t sees ids 0 … t."""
        check_text(ids, mask, self.config.h)
        visible = blocks.look_ahead_mask(ids.shape[1], ids.device)
        if mask is not None:
            visible = visible & as_boolean(mask)
        return self.decoder(self.positions(self.embed(ids)), visible)

    def logits(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., vocab) scores of the next token, before the softmax."""
        return self.projection_layer.logits(x)

    def project(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., vocab) log-probabilities of the next token."""
        return self.projection_layer(x)

    @classmethod
    def from_config(cls, config: GptConfig) -> Self:
        """A freshly initialized model of these sizes."""
        model = cls(config)
        initialize_normal(model, config.initial_std)
        shrink_what_is_added(model, config.initial_std, config.layers)
        return model

    __repr__ = tree
