"""The decoder without attention: all it knows of the source is one state (Sutskever et al. 2014).

Sutskever's encoder read the source backwards, which brings the first words close together;
ours reads forwards, so that a distance is a distance.
"""

from collections.abc import Callable

from torch import Tensor, nn

from clearhead.compare.rnn.carried import Carried, Memory
from clearhead.compare.rnn.stacks import Stack

MakeStack = Callable[[int, int, int, float], Stack]


class PlainDecoder(nn.Module):
    """A stack that begins where the encoder's ended.

    Shape:
        x: (batch, tgt_len, d_model) embedded words -> (batch, tgt_len, d_model) what comes next
    """

    def __init__(
        self, stack: MakeStack, d_model: int, hidden: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.stack = stack(d_model, hidden, layers, dropout)
        self.readout = nn.Linear(hidden, d_model)
        self.dropout = nn.Dropout(dropout)

    def start(self, memory: Memory, mask: Tensor) -> Carried:
        """The encoder's last state; mask (batch, src_len) is not needed any more."""
        return Carried(memory.state)

    def step(self, x: Tensor, carried: Carried) -> tuple[Tensor, Carried]:
        """One embedded word a row, (batch, d_model) -> (batch, d_model)."""
        out, state = self.stack(x.unsqueeze(1), carried.state)
        return self.readout(self.dropout(out.squeeze(1))), Carried(state)

    def forward(self, x: Tensor, carried: Carried) -> Tensor:
        """All words at once, as far as an RNN can: in one call of torch's own loop."""
        out, _ = self.stack(x, carried.state)
        return self.readout(self.dropout(out))
