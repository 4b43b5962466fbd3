"""ESM-2: an encoder of proteins, trained as BERT is, one token per residue (Lin et al. 2022)."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from clearhead import blocks
from clearhead.blocks.checks import check_heads, check_text
from clearhead.blocks.masks import as_boolean
from clearhead.errors import UserError
from clearhead.models.architecture import tree
from clearhead.models.config import check_memory
from clearhead.models.stack import StackConfig, choose_heads, initialize_normal, stack


@dataclass(frozen=True)
class EsmConfig(StackConfig):
    """The sizes of an ESM-2; the defaults are the smallest, of 8 million parameters."""

    vocab_size: int = 33
    seq_len: int = 1026  # 1,024 residues between <cls> and <eos>
    d_model: int = 320
    layers: int = 6
    h: int = 20
    d_ff: int = 1280
    dropout: float = 0.0
    attention_dropout: float = 0.0
    eps: float = 1e-5
    pad_id: int | None = 1
    mask_id: int = 32
    rotary_base: int = 10000


class Esm(nn.Module):
    """Every residue attends to the whole chain; positions enter as distances (rotary).

        hidden = model(ids, padding_mask(ids, model.config.pad_id))  # (batch, seq_len, d_model)
        logits = model.heads["masked_lm"](hidden)                    # (batch, seq_len, vocab)

    Heads, each from hidden states: ``masked_lm`` scores of every residue at each position,
    ``pooler`` one vector a protein, ``sequence`` scores of a protein's labels, ``token`` scores
    of each residue's labels.

    Shape:
        ids: (batch, seq_len), mask: (batch, 1, 1, seq_len), True = no padding
        -> (batch, seq_len, d_model)

    Raises:
        UserError: the chain has more tokens than `seq_len`, or an id is not in the alphabet.
    """

    def __init__(self, config: EsmConfig) -> None:
        super().__init__()
        check_memory(config)
        self.config = config
        self.embed = blocks.TokenDropoutEmbeddings(
            config.d_model, config.vocab_size, config.mask_id
        )
        check_heads(config.d_model, config.h)
        d_k = config.d_model // config.h
        rotary = blocks.RotaryPositions(d_k, config.rotary_base)  # one for all layers
        layers = stack(
            config,
            lambda: blocks.ResidualConnection(config.dropout, config.norm()),
            lambda: blocks.RotaryMultiHeadAttentionBlock(
                config.d_model, config.h, config.attention_dropout, rotary
            ),
        )
        self.encoder = blocks.Encoder(layers, config.norm())
        self.heads = self._heads(config)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """The last hidden states; without a mask nothing is padding."""
        check_text(ids, mask, h=1, query=1)
        if ids.shape[1] > self.config.seq_len:
            raise UserError(
                f"the chain has {ids.shape[1]} tokens, special tokens included, but this model has "
                f"seq_len={self.config.seq_len}; shorten or split it"
            )
        if mask is None:
            mask = torch.ones_like(ids, dtype=torch.bool)[:, None, None]
        mask = as_boolean(mask)
        return self.encoder(self.embed(ids, mask), mask)

    @classmethod
    def from_config(cls, config: EsmConfig) -> Self:
        """A freshly initialized model of these sizes."""
        model = cls(config)
        initialize_normal(model, config.initial_std)
        return model

    def _heads(self, config: EsmConfig) -> nn.ModuleDict:
        d_model, labels = config.d_model, config.labels
        activation = blocks.ACTIVATIONS[config.activation]
        makers = {
            "pooler": lambda: blocks.Pooler(d_model),
            "masked_lm": lambda: blocks.MaskedLanguageHead(
                self.embed.embedding, activation, config.norm()
            ),
            "sequence": lambda: nn.Sequential(
                nn.Dropout(config.dropout),
                blocks.Pooler(d_model),
                blocks.Classifier(d_model, labels, config.dropout),
            ),
            "token": lambda: blocks.Classifier(d_model, labels, config.dropout),
        }
        return choose_heads(config.heads, makers)

    __repr__ = tree
