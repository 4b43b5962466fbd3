"""The decoder: N blocks with masked self-attention and cross-attention (paper, section 3.1)."""

from torch import Tensor, nn

from clearhead.blocks.checks import separate_features
from clearhead.blocks.encoder import MakeResidual
from clearhead.blocks.normalization import LayerNormalization
from clearhead.blocks.residual import ResidualConnection


class DecoderBlock(nn.Module):
    """Masked self-attention, cross-attention, feed-forward, each in a residual connection.

    Self-attention reads the target up to the current position; cross-attention reads the
    encoder's output, which provides both keys and values. Call forms as in `EncoderBlock`:
    the number of features may be the first argument.

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
        features, *blocks, dropout, make_residual = separate_features(
            self_attention_block, cross_attention_block, feed_forward_block, dropout, make_residual
        )
        self.self_attention_block, self.cross_attention_block, self.feed_forward_block = blocks
        make_residual = make_residual or (
            lambda: ResidualConnection(dropout, LayerNormalization(features))
        )
        self.residual_connections = nn.ModuleList(make_residual() for _ in range(3))

    def forward(
        self,
        x: Tensor,
        encoder_output: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """Self-attention over the target, cross-attention to the source, feed-forward."""
        attend, cross_attend, feed_forward = self.residual_connections
        memory = encoder_output
        x = attend(x, lambda y: self.self_attention_block(y, y, y, tgt_mask))
        x = cross_attend(x, lambda y: self.cross_attention_block(y, memory, memory, src_mask))
        return feed_forward(x, self.feed_forward_block)


class Decoder(nn.Module):
    """A stack of decoder blocks and its final norm (``nn.Identity()`` for post-norm).

    Call forms: ``Decoder(layers)`` and ``Decoder(features, layers)``.

    Shape:
        x: (batch, tgt_len, d_model), encoder_output: (batch, src_len, d_model) -> as x
    """

    def __init__(self, layers: nn.ModuleList, norm: nn.Module | None = None) -> None:
        super().__init__()
        features, layers, norm = separate_features(layers, norm)
        self.layers = layers
        self.norm = norm if norm is not None else LayerNormalization(features)

    def forward(
        self,
        x: Tensor,
        encoder_output: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """All layers in order, then the norm."""
        for layer in self.layers:
            x = layer(x, encoder_output, src_mask, tgt_mask)
        return self.norm(x)
