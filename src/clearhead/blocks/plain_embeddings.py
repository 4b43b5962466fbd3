"""The table of words without the paper's factor, as in BERT, GPT-2 and ESM-2."""

from torch import Tensor

from clearhead.blocks.embeddings import InputEmbeddings


class PlainEmbeddings(InputEmbeddings):
    r"""`InputEmbeddings` whose rows go in as they stand.

    .. math:: \text{out}_t = E_{x_t}

    Why no factor: where positions are learned beside the words, training gives both
    tables the size that suits them.

    Shape:
        x: (batch, seq_len) integer ids -> (batch, seq_len, d_model)

    Raises:
        UserError: an id is negative or not below `vocab_size`.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Look the rows up."""
        self._check_ids(x)
        return self.embedding(x)
