"""One vector for a whole text: the mean of its tokens' (Reimers and Gurevych 2019)."""

import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import padding_mask


def masked_mean(hidden: Tensor, mask: Tensor) -> Tensor:
    r"""The mean over the tokens that are no padding.

    .. math:: \frac{\sum_t m_t x_t}{\sum_t m_t}

    Shape:
        hidden: (batch, seq_len, d_model), mask: (batch, 1, 1, seq_len) -> (batch, d_model).
        A text of no tokens gives zeros.
    """
    real = mask[:, 0, 0].unsqueeze(-1).to(hidden.dtype)  # (batch, seq_len, 1)
    return (hidden * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


class SentenceEmbedding(nn.Module):
    """An encoder whose answer for a text is one vector of length 1: texts alike lie close.

    The product of two of them is their cosine.

    Shape:
        ids: (batch, seq_len) -> (batch, d_model)
    """

    def __init__(self, encoder: nn.Module, pad_id: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.pad_id = pad_id

    def forward(self, ids: Tensor) -> Tensor:
        """Read, take the mean, bring to length 1."""
        mask = padding_mask(ids, self.pad_id)
        return F.normalize(masked_mean(self.encoder(ids, mask), mask), dim=1)
