"""The writing half: N blocks that see what was written and what was read (section 3.1)."""

from torch import Tensor, nn

from clearhead.blocks.encoder import MakeResidual
from clearhead.blocks.normalization import LayerNormalization
from clearhead.blocks.residual import ResidualConnection


class DecoderBlock(nn.Module):
    """Masked self-attention, cross-attention, feed-forward, each in a residual connection.

    In self-attention a position asks what was written before it; in
    cross-attention the same position asks the encoder's output, which gives
    both keys and values.

    Shape:
        x: (batch, tgt_len, d_model), encoder_output: (batch, src_len, d_model),
        src_mask: (batch, 1, 1, src_len), tgt_mask: (batch, 1, tgt_len, tgt_len) -> as x
    """

    def __init__(
        self,
        self_attention_block: nn.Module,
        cross_attention_block: nn.Module,
        feed_forward_block: nn.Module,
        dropout: float,
        make_residual: MakeResidual | None = None,
    ) -> None:
        super().__init__()
        make_residual = make_residual or (lambda: ResidualConnection(dropout))
        self.self_attention_block = self_attention_block
        self.cross_attention_block = cross_attention_block
        self.feed_forward_block = feed_forward_block
        self.residual_connections = nn.ModuleList(make_residual() for _ in range(3))

    def forward(
        self,
        x: Tensor,
        encoder_output: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """What was written, asked of itself, then of the source, then thought over."""
        attend, cross_attend, feed_forward = self.residual_connections
        memory = encoder_output
        x = attend(x, lambda y: self.self_attention_block(y, y, y, tgt_mask))
        x = cross_attend(x, lambda y: self.cross_attention_block(y, memory, memory, src_mask))
        return feed_forward(x, self.feed_forward_block)


class Decoder(nn.Module):
    """The stack of decoder blocks and its last norm (``nn.Identity()`` for post-norm).

    Shape:
        x: (batch, tgt_len, d_model), encoder_output: (batch, src_len, d_model) -> as x
    """

    def __init__(self, layers: nn.ModuleList, norm: nn.Module | None = None) -> None:
        super().__init__()
        self.layers = layers
        self.norm = norm if norm is not None else LayerNormalization()

    def forward(
        self,
        x: Tensor,
        encoder_output: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """One layer after the other, then the norm."""
        for layer in self.layers:
            x = layer(x, encoder_output, src_mask, tgt_mask)
        return self.norm(x)
