"""Attention as it was invented, beside an RNN (Bahdanau, Cho and Bengio 2015)."""

import torch
from torch import Tensor, nn


class BahdanauAttention(nn.Module):
    r"""Which source words matter for the next target word? A small network answers.

    .. math::
        e_{ij} &= v^\top \tanh(W s_{i-1} + U h_j) \\
        \alpha_{ij} &= \exp(e_{ij}) / \textstyle\sum_k \exp(e_{ik}) \\
        c_i &= \textstyle\sum_j \alpha_{ij} h_j

    Equations 5 and 6 and appendix A.1.2. "Additive": a sum inside a tanh compares query and
    key, where the Transformer takes their dot product. The query is the state *before* the
    word, which is why the words of a target cannot be computed side by side.

    Shape:
        query: (batch, hidden), keys: (batch, src_len, hidden) from `keys`,
        values: (batch, src_len, hidden), mask: (batch, src_len), True = may look
        -> context (batch, hidden), weights (batch, src_len), which sum to 1
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.w = nn.Linear(hidden, hidden, bias=False)
        self.u = nn.Linear(hidden, hidden)
        self.v = nn.Linear(hidden, 1, bias=False)

    def keys(self, values: Tensor) -> Tensor:
        """U h of every source word: once a sentence, for it does not change."""
        return self.u(values)

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Compare, normalise, average."""
        energies = self.v(torch.tanh(self.w(query).unsqueeze(1) + keys)).squeeze(-1)
        energies = energies.masked_fill(~mask, torch.finfo(energies.dtype).min)
        # The product gives zeros, not an even spread, where nothing may be looked at.
        weights = energies.softmax(-1) * mask
        context = (weights.unsqueeze(1) @ values).squeeze(1)  # (batch, 1, src_len) @ values
        return context, weights
