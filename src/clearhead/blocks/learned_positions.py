"""Where a token stands, told by a learned vector for each place (BERT, GPT-2)."""

from torch import Tensor, nn

from clearhead.errors import UserError


class LearnedPositions(nn.Module):
    r"""Adds row t of a learned table to the embedding at position t.

    .. math:: \text{out}_t = x_t + P_t

    The paper tried this beside its waves and found no difference (section 3.5, table 3,
    row E). What it costs: a position that training never saw has no vector, so the table
    is the longest text that the model can read.

    Shape:
        x: (batch, seq_len, d_model) -> the same. Table: (seq_len, d_model).

    Raises:
        UserError: the input is longer than `seq_len`.
    """

    def __init__(self, d_model: int, seq_len: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.d_model = d_model
        self.seq_len = seq_len
        self.table = nn.Embedding(seq_len, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Add the first seq_len rows of the table."""
        length = x.shape[1]
        if length > self.seq_len:
            raise UserError(
                f"the input has {length} tokens but this model has seq_len={self.seq_len} "
                "positions; shorten or split it"
            )
        # (batch, seq_len, d_model) + (seq_len, d_model): one row a place for the whole batch
        return self.dropout(x + self.table.weight[:length])

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        return f"d_model={self.d_model}, seq_len={self.seq_len}"
