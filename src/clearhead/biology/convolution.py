"""A small convolutional network, the usual peer of a Transformer on short sequences."""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.biology.encoder import MotifConfig, MotifEmbeddings


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
