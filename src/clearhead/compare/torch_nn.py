"""`torch.nn.Transformer`, pre-norm, with embeddings and projection, which it leaves to its user."""

import math
from collections.abc import Iterator

from torch import Tensor, nn

from clearhead.blocks import PositionalEncoding
from clearhead.compare.ordinary_step import ordinary, precisions
from clearhead.compare.race import Contestant
from clearhead.compare.task import Task
from clearhead.models import TransformerConfig

NAME = "torch.nn.Transformer"


class TorchTransformer(nn.Module):
    """Ids in, logits out: the same function as ours once the weights are copied.

    Its targets need no padding mask: padding stands at the end, where no real
    position looks, and without the mask torch may take its causal kernel.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad_id, self.scale = config.pad_id, math.sqrt(config.d_model)
        self.src_embed = nn.Embedding(config.src_vocab_size, config.d_model)
        self.tgt_embed = nn.Embedding(config.tgt_vocab_size, config.d_model)
        self.position = PositionalEncoding(config.d_model, config.src_seq_len, config.dropout)
        self.transformer = nn.Transformer(
            config.d_model,
            config.h,
            config.encoder_layers,
            config.decoder_layers,
            config.d_ff,
            config.dropout,
            norm_first=True,
            batch_first=True,
            custom_encoder=_encoder(config),
        )
        self.proj = nn.Linear(config.d_model, config.tgt_vocab_size)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(batch, src_len), (batch, tgt_len) ids -> (batch, tgt_len, vocab)."""
        hidden = src == self.pad_id  # torch's sign: True = may not look
        look_ahead = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1], tgt.device)
        x = self.transformer(
            self.position(self.src_embed(src) * self.scale),
            self.position(self.tgt_embed(tgt) * self.scale),
            tgt_mask=look_ahead,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return self.proj(x)


def _encoder(config: TransformerConfig) -> nn.TransformerEncoder:
    """What `nn.Transformer` makes itself, but for nested tensors, which pre-norm cannot use."""
    layer = nn.TransformerEncoderLayer(
        config.d_model, config.h, config.d_ff, config.dropout, norm_first=True, batch_first=True
    )
    norm = nn.LayerNorm(config.d_model)
    return nn.TransformerEncoder(layer, config.encoder_layers, norm, enable_nested_tensor=False)


def contestants(task: Task) -> Iterator[Contestant]:
    """As it stands."""
    for precision in precisions(task):
        yield ordinary(NAME, TorchTransformer(task.config), task, precision)


def compiled_contestants(task: Task) -> Iterator[Contestant]:
    """Through torch.compile; the first pass, which compiles, is warm-up."""
    for precision in precisions(task):
        model = TorchTransformer(task.config)
        model.compile(dynamic=False)
        yield ordinary(NAME, model, task, f"{precision}, compiled")
