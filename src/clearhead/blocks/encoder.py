"""The encoder: N blocks of self-attention and feed-forward (paper, section 3.1)."""

from collections.abc import Callable

from torch import Tensor, nn

from clearhead.blocks.checks import separate_features
from clearhead.blocks.normalization import LayerNormalization
from clearhead.blocks.residual import ResidualConnection

MakeResidual = Callable[[], nn.Module]


class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward, each inside a residual connection.

    Call forms: ``EncoderBlock(self_attention_block, feed_forward_block, dropout)`` (the
    step-by-step guide); with the number of features as first argument the norms have one
    alpha and bias for each feature (hkproj/pytorch-transformer). `make_residual` replaces
    `ResidualConnection`.

    Shape:
        x: (batch, src_len, d_model), src_mask: (batch, 1, 1, src_len) -> as x
    """

    def __init__(
        self,
        self_attention_block: nn.Module,
        feed_forward_block: nn.Module,
        dropout: float,
        make_residual: MakeResidual | None = None,
    ) -> None:
        super().__init__()
        features, *blocks, dropout, make_residual = separate_features(
            self_attention_block, feed_forward_block, dropout, make_residual
        )
        self.self_attention_block, self.feed_forward_block = blocks
        make_residual = make_residual or (
            lambda: ResidualConnection(dropout, LayerNormalization(features))
        )
        self.residual_connections = nn.ModuleList(make_residual() for _ in range(2))

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """Self-attention over the sequence, then the position-wise feed-forward network."""
        attend, feed_forward = self.residual_connections
        x = attend(x, lambda y: self.self_attention_block(y, y, y, src_mask))
        return feed_forward(x, self.feed_forward_block)


class Encoder(nn.Module):
    """A stack of encoder blocks and its final norm (``nn.Identity()`` for post-norm).

    In pre-norm no block normalizes the residual sum, so it grows with the depth; the final norm
    brings it to unit scale. Call forms: ``Encoder(layers)`` and ``Encoder(features, layers)``.

    Shape:
        x: (batch, src_len, d_model), mask: (batch, 1, 1, src_len) -> as x
    """

    def __init__(self, layers: nn.ModuleList, norm: nn.Module | None = None) -> None:
        super().__init__()
        features, layers, norm = separate_features(layers, norm)
        self.layers = layers
        self.norm = norm if norm is not None else LayerNormalization(features)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """All layers in order, then the norm."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
