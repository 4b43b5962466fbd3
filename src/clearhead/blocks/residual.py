"""Add & Norm: the way around every sublayer (paper, section 3.1; He et al. 2016)."""

from collections.abc import Callable

from torch import Tensor, nn

from clearhead.blocks.normalization import LayerNormalization

Sublayer = Callable[[Tensor], Tensor]


class ResidualConnection(nn.Module):
    r"""What the sublayer says is *added* to what was known.

    .. math:: x + \text{Dropout}(\text{Sublayer}(\text{Norm}(x)))

    This is pre-norm, as the teaching sources write it: the sum itself is never
    normalised, so a straight road for the gradient leads from the last layer to
    the first (Xiong et al. 2020). The paper's figure is `PostNormResidualConnection`.

    The sources write ``ResidualConnection(dropout)``, with one alpha and bias in
    all; ``norm=LayerNormalization(d_model)`` gives one per feature.

    Shape:
        x: (batch, seq_len, d_model), sublayer: same -> same. Returns the same.
    """

    def __init__(self, dropout: float, norm: nn.Module | None = None) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = norm if norm is not None else LayerNormalization()

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Norm, sublayer, add."""
        return x + self.dropout(sublayer(self.norm(x)))


class PostNormResidualConnection(ResidualConnection):
    r"""The paper's order, as in its figure 1, in BERT and in Marian.

    .. math:: \text{Norm}(x + \text{Dropout}(\text{Sublayer}(x)))

    A stack of these needs no final norm, but a warm-up to train.
    """

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Sublayer, add, norm."""
        return self.norm(x + self.dropout(sublayer(x)))
