"""The reading half: N blocks that look at the whole source (paper, section 3.1)."""

from collections.abc import Callable

from torch import Tensor, nn

from clearhead.blocks.normalization import LayerNormalization
from clearhead.blocks.residual import ResidualConnection

MakeResidual = Callable[[], nn.Module]


class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward, each inside a residual connection.

    ``EncoderBlock(self_attention_block, feed_forward_block, dropout)`` makes its own
    `ResidualConnection(dropout)`; `make_residual` composes another kind.

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
        make_residual = make_residual or (lambda: ResidualConnection(dropout))
        self.self_attention_block = self_attention_block
        self.feed_forward_block = feed_forward_block
        self.residual_connections = nn.ModuleList(make_residual() for _ in range(2))

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """Gather from the other words, then think it over."""
        attend, feed_forward = self.residual_connections
        x = attend(x, lambda y: self.self_attention_block(y, y, y, src_mask))
        return feed_forward(x, self.feed_forward_block)


class Encoder(nn.Module):
    """The stack; its last norm brings the never-normalised sum of pre-norm to scale.

    A post-norm stack is given ``norm=nn.Identity()``.

    Shape:
        x: (batch, src_len, d_model) -> the same
    """

    def __init__(self, layers: nn.ModuleList, norm: nn.Module | None = None) -> None:
        super().__init__()
        self.layers = layers
        self.norm = norm if norm is not None else LayerNormalization()

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """One layer after the other, then the norm."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
