"""No n-gram twice: a blunt remedy against a translation that goes round in circles."""

import torch
from torch import Tensor


def ban_repeated_ngrams(logits: Tensor, history: Tensor, n: int) -> None:
    """Set to -inf, in place, every token that would complete an n-gram a second time.

    The last n - 1 tokens are compared with every window of that length; what
    followed an equal window is banned.

    Shape:
        logits: (rows, vocab), history: (rows, written) ids, begin sign left out
    """
    written = history.shape[1]
    if written < n:
        return
    followers = history[:, n - 1 :]  # (rows, windows): the token after each window
    if n == 1:
        logits.scatter_(1, followers, -torch.inf)
        return
    windows = history[:, :-1].unfold(1, n - 1, 1)  # (rows, windows, n - 1)
    ending = history[:, written - n + 1 :].unsqueeze(1)  # (rows, 1, n - 1)
    repeats = (windows == ending).all(dim=2)  # (rows, windows)
    row, window = repeats.nonzero(as_tuple=True)
    logits[row, followers[row, window]] = -torch.inf
