"""The encoders that learn from scratch on small biological data, and a small CNN as their peer."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import (
    Encoder,
    LearnedPositions,
    PlainEmbeddings,
    ResidualConnection,
    RotaryMultiHeadAttentionBlock,
    RotaryPositions,
)
from clearhead.errors import UserError
from clearhead.models.stack import StackConfig, stack


@dataclass(frozen=True)
class MotifConfig(StackConfig):
    """The sizes of a `MotifEncoder`."""

    seq_len: int = 1024
    d_model: int = 64
    layers: int = 2
    h: int = 4
    d_ff: int = 128
    attention_dropout: float = 0.0
    eps: float = 1e-5
    token_width: int = 16  # of a token's own vector, before its window is read
    motif: int = 9  # tokens of a window, an odd number; 1: the token alone
    pool: int = 1  # of aligned sequences: neighbouring positions that share one vector
    aligned: bool = False  # position t means the same in every sequence

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.motif % 2 == 0:
            raise UserError(f"model.motif={self.motif} is even, without a center; give an odd one")
        if self.pool > 1 and not self.aligned:
            raise UserError(f"model.pool={self.pool} needs aligned sequences; give 1")

    @property
    def positions(self) -> int:
        """Hidden states of an aligned sequence."""
        return math.ceil(self.seq_len / self.pool)


class MotifEmbeddings(nn.Module):
    r"""Each token together with its neighbours: a learned motif detector per feature.

    .. math:: \text{out}_t = \text{GELU}\Bigl(b + \sum_{j=-r}^{r} W_j E_{x_{t+j}}\Bigr)

    Each feature is a position weight matrix over a window of 2r + 1 tokens, which a biologist
    draws as a sequence logo. Why: one base means little, so attention between single bases must
    first learn to assemble motifs; a few thousand sequences do not suffice for that. It is also
    what an embedding of overlapping k-mers does, without a table of 4^k rows.

    Shape:
        ids: (batch, seq_len), mask: (batch, 1, 1, seq_len), True = no padding
        -> (batch, seq_len, d_model)
    """

    def __init__(self, config: MotifConfig) -> None:
        super().__init__()
        self.tokens = PlainEmbeddings(config.token_width, config.vocab_size)
        self.window = nn.Conv1d(
            config.token_width, config.d_model, config.motif, padding=config.motif // 2
        )

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Look up, set padding to zero, apply every motif at every position."""
        real = mask[:, 0, 0].unsqueeze(-1)  # (batch, seq_len, 1)
        embedded = self.tokens(ids) * real
        # (batch, seq_len, token_width) -> (batch, d_model, seq_len) -> (batch, seq_len, d_model)
        found = self.window(embedded.transpose(1, 2)).transpose(1, 2)
        return F.gelu(found) * real


class MotifEncoder(nn.Module):
    """Motif embeddings, then the Transformer's encoder (pre-norm, rotary positions).

    Aligned sequences, which all have the same length and whose position t always means the same
    (base 31 is the first of the intron), also get learned positions. Of every `pool` neighbouring
    positions of theirs, each motif's strongest match is kept, as in Enformer (Avsec et al. 2021):
    attention over a third of the positions costs a ninth.

    Shape:
        ids: (batch, seq_len), mask: (batch, 1, 1, seq_len), True = no padding
        -> (batch, seq_len, d_model); of aligned sequences (batch, ceil(seq_len / pool), d_model)

    Raises:
        UserError: an aligned sequence is longer than those of training.
    """

    def __init__(self, config: MotifConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = MotifEmbeddings(config)
        self.positions = (
            LearnedPositions(config.d_model, config.positions) if config.aligned else nn.Identity()
        )
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(self._layers(config), config.norm())
        self._initialize()

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Find motifs, add positions, let every position see all others."""
        found = self.strongest(self.embed(ids, mask))
        # No mask at all where there is no padding: the same result in less time.
        visible = None if bool(mask.all()) else mask
        return self.encoder(self.dropout(self.positions(found)), visible)

    def strongest(self, x: Tensor) -> Tensor:
        """The maximum of each feature over `pool` positions."""
        if self.config.pool == 1:
            return x
        # (batch, seq_len, d_model) -> (batch, d_model, positions) -> (batch, positions, d_model)
        pool = self.config.pool
        return F.max_pool1d(x.transpose(1, 2), pool, ceil_mode=True).transpose(1, 2)

    def _layers(self, config: MotifConfig) -> nn.ModuleList:
        rotary = RotaryPositions(config.d_model // config.h)
        make_attention: Callable[[], nn.Module] = lambda: RotaryMultiHeadAttentionBlock(  # noqa: E731
            config.d_model, config.h, config.attention_dropout, rotary
        )
        return stack(
            config, lambda: ResidualConnection(config.dropout, config.norm()), make_attention
        )

    def _initialize(self) -> None:
        """Normal with standard deviation 1/sqrt(inputs); motifs of unit variance.

        Where motifs began smaller than the learned positions, numbers were not learned at all.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5 * 0.7)
                nn.init.zeros_(module.bias)
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.3)
        window = self.embed.window
        nn.init.normal_(self.embed.tokens.embedding.weight)
        nn.init.normal_(window.weight, std=(window.in_channels * self.config.motif) ** -0.5)


@dataclass(frozen=True)
class ConvolutionConfig(MotifConfig):
    """The sizes of a `ConvolutionEncoder`; those of attention are not used."""


class ConvolutionEncoder(nn.Module):
    """Motif embeddings, then a second convolution over them, with a residual connection.

    Shape:
        ids: (batch, seq_len), mask: (batch, 1, 1, seq_len), True = no padding
        -> (batch, seq_len, d_model)
    """

    def __init__(self, config: ConvolutionConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = MotifEmbeddings(config)
        self.window = nn.Conv1d(
            config.d_model, config.d_model, config.motif, padding=config.motif // 2
        )
        self.dropout = nn.Dropout(config.dropout)
        self.norm = config.norm()

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Find motifs, then motifs of motifs."""
        x = self.dropout(self.embed(ids, mask))
        # (batch, seq_len, d_model) -> (batch, d_model, seq_len) and back
        wider = self.window(x.transpose(1, 2)).transpose(1, 2)
        return self.norm(x + self.dropout(F.gelu(wider)))
