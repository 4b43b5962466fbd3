r"""The two recurrent layers, from torch.nn, with one way to call them.

A state is a tuple of tensors (layers, batch, hidden): (h, c) for the LSTM (Hochreiter and
Schmidhuber 1997), (h,) for the GRU (Cho et al. 2014). Step t needs the state of step t - 1:
no kernel, however fast, can read the tokens of a sentence side by side.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

State = tuple[Tensor, ...]


class LstmStack(nn.Module):
    """`nn.LSTM`; a cell state that is added to, and gates that let through.

    Shape:
        x: (batch, seq_len, d_in), state: each (layers, batch, hidden), or None for zeros
        -> (batch, seq_len, hidden), the state after the last token
    """

    parts = 2

    def __init__(self, d_in: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.rnn = nn.LSTM(d_in, hidden, layers, batch_first=True, dropout=between)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """All tokens of a sentence, one after the other."""
        h_and_c = None if state is None else (state[0], state[1])
        out, after = self.rnn(x, h_and_c)
        return out, after

    def read(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
        """Padded sentences; the state is that after each one's own last token."""
        out, after = self.rnn(_packed(x, lengths))
        return _padded(out, x.shape[1]), after


class GruStack(nn.Module):
    """`nn.GRU`; as `LstmStack`, with one state and three gates."""

    parts = 1

    def __init__(self, d_in: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.rnn = nn.GRU(d_in, hidden, layers, batch_first=True, dropout=between)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """As `LstmStack.forward`."""
        out, after = self.rnn(x, None if state is None else state[0])
        return out, (after,)

    def read(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
        """As `LstmStack.read`."""
        out, after = self.rnn(_packed(x, lengths))
        return _padded(out, x.shape[1]), (after,)


Stack = LstmStack | GruStack


def initialize_recurrent(stack: Stack) -> None:
    """The start that is known to be good: gates open for the past, nothing grows or shrinks.

    Orthogonal recurrent matrices (Saxe et al. 2014), and the LSTM's forget gate at one
    (Gers et al. 2000; Jozefowicz et al. 2015): torch's own start forgets half of it a step.
    """
    hidden = stack.rnn.hidden_size
    for name, parameter in stack.rnn.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
            if isinstance(stack, LstmStack) and "bias_ih" in name:
                with torch.no_grad():  # torch's order of gates: input, forget, cell, output
                    parameter[hidden : 2 * hidden] = 1.0
            continue
        for gate in parameter.data.split(hidden):  # each gate's matrix by itself
            (nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_)(gate)


def _packed(x: Tensor, lengths: Tensor) -> PackedSequence:
    return pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)


def _padded(out: PackedSequence, length: int) -> Tensor:
    return pad_packed_sequence(out, batch_first=True, total_length=length)[0]
