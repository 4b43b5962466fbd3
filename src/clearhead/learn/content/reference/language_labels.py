"""What BERT and GPT are trained to predict."""

import torch
from torch import Tensor


def masked_labels(ids: Tensor, chosen: Tensor, ignored: int) -> Tensor:
    """BERT's labels: the original id where a token was chosen, `ignored` elsewhere.

    Shape:
        ids: (batch, seq_len), chosen: (batch, seq_len) bool -> (batch, seq_len)
    """
    return torch.where(chosen, ids, ignored)


def next_token_pairs(ids: Tensor) -> tuple[Tensor, Tensor]:
    """GPT's inputs and labels: at every position the label is the token that follows.

    Shape:
        ids: (batch, seq_len) -> inputs and labels, both (batch, seq_len - 1)
    """
    return ids[:, :-1], ids[:, 1:]
