"""From a vector back to words (paper, section 3.4)."""

import torch
from torch import Tensor, nn


class ProjectionLayer(nn.Module):
    r"""A score for every word of the vocabulary, as log-probabilities.

    .. math:: \log \text{softmax}(x W + b)

    Log-probabilities, as the sources have it: the loss is then a plain lookup,
    and `torch.nn.CrossEntropyLoss`, which takes its own log-softmax, still gives
    the same number (a log-softmax of log-probabilities changes nothing).
    `logits` gives the scores before the softmax.

    Shape:
        x: (batch, seq_len, d_model) -> (batch, seq_len, vocab_size)
    """

    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, vocab_size)

    def forward(self, x: Tensor) -> Tensor:
        """Log-probabilities over the vocabulary."""
        return torch.log_softmax(self.logits(x), dim=-1)

    def logits(self, x: Tensor) -> Tensor:
        """The scores before the softmax, (batch, seq_len, vocab_size)."""
        return self.proj(x)
