"""The paper's waves with all sines before all cosines, as Marian lays them out."""

import torch

from clearhead.blocks.positional_encoding import PositionalEncoding


class HalvedPositionalEncoding(PositionalEncoding):
    r"""`PositionalEncoding` with its features in another order.

    .. math::
        PE_{(pos, i)}                   &= \sin(pos / 10000^{2i / d_{model}}) \\
        PE_{(pos, i + d_{model} / 2)}   &= \cos(pos / 10000^{2i / d_{model}})

    A model trained from scratch would not care; weights that were trained in this
    order do.

    Shape:
        x: (batch, seq_len, d_model) -> the same. Buffer ``pe``: (1, seq_len, d_model).

    Raises:
        UserError: the input is longer than `seq_len`.
    """

    def __init__(self, d_model: int, seq_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__(d_model, seq_len, dropout)
        # sine, cosine, sine, cosine … -> the sines, then the cosines
        self.pe = torch.cat([self.pe[..., 0::2], self.pe[..., 1::2]], dim=-1)
