"""What stands on an encoder and turns its vectors into answers (BERT, section 3)."""

import torch
from torch import Tensor, nn

from clearhead.blocks.activations import Activation
from clearhead.blocks.tied_projection import TiedProjection


class Pooler(nn.Module):
    r"""One vector for the whole text: the first token's, which BERT keeps for this purpose.

    .. math:: \tanh(x_0 W + b)

    Shape:
        x: (batch, seq_len, d_model) -> (batch, d_model)
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.linear = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Take the first, project, squash."""
        return torch.tanh(self.linear(x[:, 0]))


class Classifier(nn.Module):
    """A score for every label, of a text or of each token, whichever is given.

    Shape:
        x: (..., d_model) -> (..., labels)
    """

    def __init__(self, d_model: int, labels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(d_model, labels)

    def forward(self, x: Tensor) -> Tensor:
        """The scores before the softmax."""
        return self.linear(self.dropout(x))


class MaskedLanguageHead(nn.Module):
    r"""Which word stood at each place: one more layer, then the table of embeddings.

    .. math:: \text{logits} = \text{Norm}(f(x W + b)) \, E^T + c

    Why the layer: the encoder's last vector is good for looking around; this turns it into
    one that lies among the embeddings of words.

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
        """Project, bend, normalise, compare with every word."""
        return self.projection.logits(self.norm(self.activation(self.linear(x))))
