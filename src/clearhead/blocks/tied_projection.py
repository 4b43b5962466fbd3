"""From a vector back to words through the table that brought the words in (section 3.4)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class TiedProjection(nn.Module):
    r"""`ProjectionLayer` whose matrix is the table of embeddings.

    .. math:: \log \text{softmax}(x E^T + b)

    Why: a word is likely where the vector points in the direction of its embedding; and
    the largest matrix of a small model is stored once (Press and Wolf 2017). GPT-2 has no
    bias; BERT and ESM-2 have one.

    Shape:
        x: (batch, seq_len, d_model) -> (batch, seq_len, vocab_size)
    """

    bias: nn.Parameter | None

    def __init__(self, table: nn.Embedding, bias: nn.Parameter | None = None) -> None:
        super().__init__()
        self.table = table
        self.register_parameter("bias", bias)

    def forward(self, x: Tensor) -> Tensor:
        """Log-probabilities over the vocabulary."""
        return torch.log_softmax(self.logits(x), dim=-1)

    def logits(self, x: Tensor) -> Tensor:
        """The scores before the softmax, (batch, seq_len, vocab_size)."""
        return F.linear(x, self.table.weight, self.bias)
