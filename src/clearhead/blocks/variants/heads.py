"""Task heads on an encoder or decoder: tied projection, pooler, classifier, masked language."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks.checks import check_features
from clearhead.blocks.variants.activations import Activation


class TiedProjection(nn.Module):
    r"""`ProjectionLayer` whose weight is the embedding matrix (Press and Wolf 2017).

    .. math:: \log \text{softmax}(x E^T + b)

    A token is probable where x points in the direction of its embedding; and the largest
    matrix of a small model is stored once. BERT and ESM-2 have a bias, GPT-2 has none.

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
        check_features("x", x, self.table.embedding_dim)
        return F.linear(x, self.table.weight, self.bias)


class Pooler(nn.Module):
    r"""One vector for the whole text, computed from its first token (BERT, section 3.1).

    .. math:: \tanh(x_0 W + b)

    The linear layer and tanh are in BERT's code, not in its paper.

    Shape:
        x: (batch, seq_len, d_model) -> (batch, d_model)
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.linear = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Select the first position, project, tanh."""
        return torch.tanh(self.linear(x[:, 0]))


class Classifier(nn.Module):
    """A score for each label, of a text or of each token.

    Shape:
        x: (..., d_model) -> (..., labels)
    """

    def __init__(self, d_model: int, labels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(d_model, labels)

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        return self.linear(self.dropout(x))


class MaskedLanguageHead(nn.Module):
    r"""Predicts the original token at each position (BERT, section 3.1, task 1).

    .. math:: \text{logits} = \text{Norm}(f(x W + b)) \, E^T + c

    The additional layer maps the encoder's output into the space of the token embeddings; it is
    in BERT's code, not in its paper.

    Shape:
        x: (batch, seq_len, d_model) -> (batch, seq_len, vocab_size), before the softmax
    """

    def __init__(self, table: nn.Embedding, activation: Activation, norm: nn.Module) -> None:
        super().__init__()
        vocab_size, d_model = table.weight.shape
        self.linear = nn.Linear(d_model, d_model)
        self.activation = activation
        self.norm = norm
        self.projection = TiedProjection(table, nn.Parameter(torch.zeros(vocab_size)))

    def forward(self, x: Tensor) -> Tensor:
        """Linear, activation function, norm, product with the embedding matrix."""
        return self.projection.logits(self.norm(self.activation(self.linear(x))))
