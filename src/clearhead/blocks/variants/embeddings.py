"""Embeddings of other models: without the paper's factor, and with ESM-2's token dropout."""

from torch import Tensor

from clearhead.blocks.embeddings import InputEmbeddings

# ESM-2 was trained with 15 % of the residues selected, and 80 % of these masked.
MASKED_IN_TRAINING = 0.15 * 0.8


class PlainEmbeddings(InputEmbeddings):
    r"""`InputEmbeddings` without the factor :math:`\sqrt{d_{model}}` (BERT, GPT-2, ESM-2).

    .. math:: \text{out}_t = E_{x_t}

    No fixed encoding is added to it, so the embedding matrix may have any scale; training finds
    it.

    Shape:
        x: (batch, seq_len) integer ids -> (batch, seq_len, d_model)

    Raises:
        UserError: the ids are not integers, or one is negative or not below `vocab_size`.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Look up the rows."""
        self._check_ids(x)
        return self.embedding(x)


class TokenDropoutEmbeddings(PlainEmbeddings):
    r"""`PlainEmbeddings` in which masked and padded tokens are zero (ESM-2; Lin et al. 2022).

    .. math:: \text{out}_t = E_{x_t} \, \frac{1 - 0.12}{1 - m}, \qquad
              m = \text{the fraction of the sequence that is masked}

    In training 12 % of the residues were masked. The factor gives the sum over a sequence the
    same expected value for any other fraction, 0 included.

    Shape:
        x: (batch, seq_len) ids, mask: (batch, 1, 1, seq_len), True = no padding
        -> (batch, seq_len, d_model)

    Raises:
        UserError: as `PlainEmbeddings`.
    """

    def __init__(self, d_model: int, vocab_size: int, mask_id: int) -> None:
        super().__init__(d_model, vocab_size)
        self.mask_id = mask_id

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        """Look up the rows, set masked ones to zero, rescale."""
        real = mask[:, 0, 0]  # (batch, seq_len)
        masked = x == self.mask_id
        share = masked.sum(dim=1) / real.sum(dim=1).clamp(min=1)  # (batch,)
        # Where all tokens are masked, the factor has no effect; it must only be finite.
        factor = (1 - MASKED_IN_TRAINING) / (1 - share.masked_fill(share == 1, 0.0))
        embedded = super().forward(x).masked_fill(masked.unsqueeze(-1), 0.0)
        scaled = (embedded * factor[:, None, None]).to(embedded.dtype)
        return scaled * real.unsqueeze(-1)
