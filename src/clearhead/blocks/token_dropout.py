"""ESM-2's embeddings: a masked residue says nothing, and the others speak up for it."""

from torch import Tensor

from clearhead.blocks.plain_embeddings import PlainEmbeddings

# Of all residues that ESM-2 saw in training, 15 % were chosen and 80 % of these masked.
MASKED_IN_TRAINING = 0.15 * 0.8


class TokenDropoutEmbeddings(PlainEmbeddings):
    r"""`PlainEmbeddings` in which masked and padded tokens are zero (Lin et al. 2022).

    .. math:: \text{out}_t = E_{x_t} \, \frac{1 - 0.12}{1 - m}, \qquad
              m = \text{share of the sequence that is masked}

    Why the factor: as after dropout, the sum over a sequence keeps the size that it had in
    training, when 12 % of the residues were masked, also where nothing is.

    Shape:
        x: (batch, seq_len) ids, mask: (batch, 1, 1, seq_len), True = no padding
        -> (batch, seq_len, d_model)

    Raises:
        UserError: an id is negative or not below `vocab_size`.
    """

    def __init__(self, d_model: int, vocab_size: int, mask_id: int) -> None:
        super().__init__(d_model, vocab_size)
        self.mask_id = mask_id

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        """Look up, silence, scale."""
        real = mask[:, 0, 0]  # (batch, seq_len)
        masked = x == self.mask_id
        share = masked.sum(dim=1) / real.sum(dim=1)  # (batch,)
        factor = (1 - MASKED_IN_TRAINING) / (1 - share)
        embedded = super().forward(x).masked_fill(masked.unsqueeze(-1), 0.0)
        scaled = (embedded * factor[:, None, None]).to(embedded.dtype)
        return scaled * real.unsqueeze(-1)
