"""The output projection: from vectors to token probabilities (paper, section 3.4)."""

import torch
from torch import Tensor, nn

from clearhead.blocks.checks import check_features


class ProjectionLayer(nn.Module):
    r"""The log-probability of each token of the vocabulary.

    .. math:: \log \text{softmax}(x W + b)

    The sources return log-probabilities, so the loss only selects the entry of the label.
    `torch.nn.CrossEntropyLoss`, which applies log-softmax itself, gives the same loss, because
    the log-softmax of log-probabilities changes nothing. `logits` returns the scores before
    the softmax.

    Shape:
        x: (batch, seq_len, d_model) -> (batch, seq_len, vocab_size)

    Raises:
        UserError: the last dimension of x is not d_model.
    """

    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, vocab_size)

    def forward(self, x: Tensor) -> Tensor:
        """Log-probabilities over the vocabulary."""
        return torch.log_softmax(self.logits(x), dim=-1)

    def logits(self, x: Tensor) -> Tensor:
        """The scores before the softmax, (batch, seq_len, vocab_size)."""
        check_features("x", x, self.proj.in_features)
        return self.proj(x)
