"""Input embeddings: token ids become vectors (paper, section 3.4)."""

import math

from torch import Tensor, nn

from clearhead.blocks.checks import check_integers, outside
from clearhead.errors import UserError


class InputEmbeddings(nn.Module):
    r"""A learned vector for each token, scaled by :math:`\sqrt{d_{model}}`.

    .. math:: \text{out}_t = \sqrt{d_{model}} \, E_{x_t}

    `Transformer.from_config` initializes E with standard deviation :math:`1/\sqrt{d_{model}}`,
    which a tied output projection needs; the factor brings its elements to unit scale, about
    that of the sinusoids that are added next. By itself this class keeps the N(0, 1) of
    `torch.nn.Embedding`.

    Shape:
        x: (batch, seq_len) integer ids -> (batch, seq_len, d_model)

    Raises:
        UserError: the ids are not integers, or one is negative or not below `vocab_size`.
    """

    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.vocab_size = vocab_size
        self.embedding = nn.Embedding(vocab_size, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Look up the rows and scale them."""
        self._check_ids(x)
        return self.embedding(x) * math.sqrt(self.d_model)

    def _check_ids(self, x: Tensor) -> None:
        check_integers("x", x)
        if (wrong := outside(x, self.vocab_size)) is not None:
            raise UserError(
                f"token id {wrong} is outside the vocabulary of {self.vocab_size} tokens "
                f"(0 to {self.vocab_size - 1}); use the tokenizer that belongs to this model"
            )

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        return f"d_model={self.d_model}, vocab_size={self.vocab_size}"
