"""BERT: an encoder that is trained to predict masked tokens (Devlin et al. 2018).

`SentenceEmbedding` makes one vector of a text from it (Reimers and Gurevych 2019).
"""

from dataclasses import dataclass
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead import blocks
from clearhead.blocks.checks import check_ids, check_text, outside
from clearhead.blocks.masks import as_boolean
from clearhead.errors import UserError
from clearhead.models.architecture import tree
from clearhead.models.config import check_memory
from clearhead.models.stack import StackConfig, choose_heads, initialize_normal, stack


@dataclass(frozen=True)
class BertConfig(StackConfig):
    """The sizes of a BERT; the defaults are BERT base."""

    segments: int = 2  # a text may be a pair: which of the two a token belongs to


class BertEmbeddings(nn.Module):
    """Token, segment and position embeddings, each a learned vector: their sum, normalized.

    Shape:
        ids, segments: (batch, seq_len) -> (batch, seq_len, d_model)
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.words = blocks.PlainEmbeddings(config.d_model, config.vocab_size)
        self.segments = nn.Embedding(config.segments, config.d_model)
        self.positions = blocks.LearnedPositions(config.d_model, config.seq_len)
        self.norm = config.norm()
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        """Look up three times, add, normalize."""
        self._check_segments(ids, segments)
        x = self.positions(self.words(ids) + self.segments(segments))
        return self.dropout(self.norm(x))

    def _check_segments(self, ids: Tensor, segments: Tensor) -> None:
        check_ids("segments", segments)
        if segments.shape != ids.shape:
            raise UserError(
                f"segments has shape {tuple(segments.shape)} and ids {tuple(ids.shape)}; "
                "give each token its segment"
            )
        size = self.segments.num_embeddings
        if (wrong := outside(segments, size)) is not None:
            raise UserError(f"segment {wrong} is outside 0 to {size - 1}, those of this model")


class Bert(nn.Module):
    """Every token attends to the whole text; a head maps hidden states to scores.

        hidden = model(ids, padding_mask(ids, model.config.pad_id))  # (batch, seq_len, d_model)
        logits = model.heads["masked_lm"](hidden)                    # (batch, seq_len, vocab)

    Heads, each from hidden states: ``pooler`` one vector a text, ``masked_lm`` scores of
    every token at each position, ``next_sentence`` and ``sequence`` scores of a text's labels
    (both use the pooler), ``token`` scores of each token's labels.

    Shape:
        ids, segments: (batch, seq_len), mask: (batch, 1, 1, seq_len), True = visible
        -> (batch, seq_len, d_model)

    Raises:
        UserError: the text is longer than `seq_len`, or an id is not in the vocabulary, or
            a segment or the mask does not fit.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        check_memory(config)
        self.config = config
        self.embeddings = BertEmbeddings(config)
        layers = stack(
            config, lambda: blocks.PostNormResidualConnection(config.dropout, config.norm())
        )
        self.encoder = blocks.Encoder(layers, nn.Identity())  # post-norm: no final norm
        self.heads = self._heads(config)

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """The last hidden states; without `segments`, all tokens are of segment 0."""
        check_text(ids, mask, self.config.h)
        segments = torch.zeros_like(ids) if segments is None else segments
        return self.encoder(self.embeddings(ids, segments), mask)

    @classmethod
    def from_config(cls, config: BertConfig) -> Self:
        """A freshly initialized model of these sizes."""
        model = cls(config)
        initialize_normal(model, config.initial_std)
        return model

    def _heads(self, config: BertConfig) -> nn.ModuleDict:
        d_model, table = config.d_model, self.embeddings.words.embedding
        activation = blocks.ACTIVATIONS[config.activation]
        pooler = blocks.Pooler(d_model)
        makers = {
            "pooler": lambda: pooler,
            "masked_lm": lambda: blocks.MaskedLanguageHead(table, activation, config.norm()),
            "next_sentence": lambda: nn.Sequential(pooler, blocks.Classifier(d_model, 2, 0.0)),
            "sequence": lambda: nn.Sequential(
                pooler, blocks.Classifier(d_model, config.labels, config.dropout)
            ),
            "token": lambda: blocks.Classifier(d_model, config.labels, config.dropout),
        }
        return choose_heads(config.heads, makers)

    __repr__ = tree


def masked_mean(hidden: Tensor, mask: Tensor) -> Tensor:
    r"""The mean over the tokens that are not padding.

    .. math:: \frac{\sum_t m_t x_t}{\sum_t m_t}

    Shape:
        hidden: (batch, seq_len, d_model), mask: (batch, 1, 1, seq_len) -> (batch, d_model).
        A text of no tokens gives zeros.
    """
    real = as_boolean(mask)[:, 0, 0].unsqueeze(-1).to(hidden.dtype)  # (batch, seq_len, 1)
    return (hidden * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


class SentenceEmbedding(nn.Module):
    """An encoder with one vector of length 1 per text: similar texts have similar vectors.

    The product of two of them is their cosine.

    Shape:
        ids: (batch, seq_len) -> (batch, d_model)
    """

    def __init__(self, encoder: nn.Module, pad_id: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.pad_id = pad_id

    def forward(self, ids: Tensor) -> Tensor:
        """Read, take the mean, bring to length 1."""
        mask = blocks.padding_mask(ids, self.pad_id)
        return F.normalize(masked_mean(self.encoder(ids, mask), mask), dim=1)
