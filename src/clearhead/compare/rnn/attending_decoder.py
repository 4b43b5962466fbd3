"""The decoder that looks back at the source for every word (Bahdanau et al. 2015)."""

import torch
from torch import Tensor, nn

from clearhead.compare.rnn.bahdanau import BahdanauAttention
from clearhead.compare.rnn.carried import Carried, Memory, Source
from clearhead.compare.rnn.plain_decoder import MakeStack


class AttendingDecoder(nn.Module):
    """At each step: attend with the old state, then read the word and what was found.

    Shape:
        x: (batch, tgt_len, d_model) embedded words -> (batch, tgt_len, d_model) what comes next
    """

    def __init__(
        self, stack: MakeStack, d_model: int, hidden: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.attention = BahdanauAttention(hidden)
        self.stack = stack(d_model + hidden, hidden, layers, dropout)
        self.readout = nn.Linear(2 * hidden, d_model)  # of state and context
        self.dropout = nn.Dropout(dropout)

    def start(self, memory: Memory, mask: Tensor) -> Carried:
        """The encoder's last state, and its outputs with their keys; mask (batch, src_len)."""
        keys = self.attention.keys(memory.outputs)
        return Carried(memory.state, Source(keys, memory.outputs, mask))

    def step(self, x: Tensor, carried: Carried) -> tuple[Tensor, Carried]:
        """One embedded word a row, (batch, d_model) -> (batch, d_model)."""
        source = carried.source
        assert source is not None, "start() gives it"
        before = carried.state[0][-1]  # (batch, hidden), of the top layer
        context, _ = self.attention(before, source.keys, source.values, source.mask)
        out, state = self.stack(torch.cat((x, context), -1).unsqueeze(1), carried.state)
        found = torch.cat((out.squeeze(1), context), -1)
        return self.readout(self.dropout(found)), Carried(state, source)

    def forward(self, x: Tensor, carried: Carried) -> Tensor:
        """Word by word even in training: what is looked up depends on the state before it."""
        hidden = []
        for word in x.unbind(1):
            out, carried = self.step(word, carried)
            hidden.append(out)
        return torch.stack(hidden, 1)
