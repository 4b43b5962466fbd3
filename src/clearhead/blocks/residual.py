"""Residual connections around the sublayers (paper, section 3.1; He et al. 2016)."""

from collections.abc import Callable

from torch import Tensor, nn

from clearhead.blocks.checks import separate_features
from clearhead.blocks.normalization import LayerNormalization

Sublayer = Callable[[Tensor], Tensor]


class ResidualConnection(nn.Module):
    r"""The sublayer's output is added to its input.

    .. math:: x + \text{Dropout}(\text{Sublayer}(\text{Norm}(x)))

    This is pre-norm, as the teaching sources write it. No block normalizes the sum itself, so
    the gradient has an identity path through the whole stack, and training needs no warm-up
    (Xiong et al. 2020). The paper's figure 1 is `PostNormResidualConnection`.

    Call forms: ``ResidualConnection(dropout)`` has a norm with one alpha and one bias in all
    (the step-by-step guide), ``ResidualConnection(features, dropout)`` with one for each
    feature (hkproj/pytorch-transformer). `norm` replaces the norm.

    Shape:
        x: (batch, seq_len, d_model) -> the same; the sublayer keeps this shape, too.
    """

    def __init__(self, dropout: float, norm: nn.Module | None = None) -> None:
        super().__init__()
        features, dropout, norm = separate_features(dropout, norm)
        self.dropout = nn.Dropout(dropout)
        self.norm = norm if norm is not None else LayerNormalization(features)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Norm, sublayer, dropout, add."""
        return x + self.dropout(sublayer(self.norm(x)))


class PostNormResidualConnection(ResidualConnection):
    r"""The order of the paper's figure 1, also used by BERT and Marian.

    .. math:: \text{Norm}(x + \text{Dropout}(\text{Sublayer}(x)))

    A stack of these needs no final norm, but its training needs a warm-up.
    """

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Sublayer, dropout, add, norm."""
        return self.norm(x + self.dropout(sublayer(x)))
