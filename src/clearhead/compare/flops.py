"""How much arithmetic a training step is: its matrix products, forwards and backwards."""

from clearhead.models import TransformerConfig


def training_flop(config: TransformerConfig, rows: int, src_len: int, tgt_len: int) -> float:
    """Floating-point operations of one step on a full batch; a multiply-add counts two.

    A product in the forward pass has two of its size in the backward pass: one for
    the gradient of either factor. Softmax, norms and the like are not counted.
    """
    src, tgt = rows * src_len, rows * tgt_len
    d, layers = config.d_model, config.decoder_layers
    feed_forward = 2 * d * config.d_ff  # multiply-adds of a token
    encoder = src * (4 * d * d + 2 * src_len * d + feed_forward)
    self_attention = tgt * (4 * d * d + 2 * tgt_len * d)
    cross_attention = tgt * (2 * d * d + 2 * src_len * d) + src * 2 * d * d
    decoder = self_attention + cross_attention + tgt * feed_forward
    projection = tgt * d * config.tgt_vocab_size
    forward = config.encoder_layers * encoder + layers * decoder + projection
    return 2.0 * 3.0 * forward
