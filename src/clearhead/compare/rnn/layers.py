r"""Recurrent layers, additive attention, and the decoders built from them.

A state is a tuple of tensors (layers, batch, hidden): (h, c) for the LSTM (Hochreiter and
Schmidhuber 1997), (h,) for the GRU (Cho et al. 2014). Step t needs the state of step t - 1, so the
tokens of a sentence cannot be processed in parallel.
"""

from collections.abc import Callable
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

State = tuple[Tensor, ...]


class Stack(nn.Module):
    """`nn.LSTM` or `nn.GRU` with one interface.

    Shape:
        x: (batch, seq_len, d_in), state: each (layers, batch, hidden), or None for zeros
        -> (batch, seq_len, hidden), the state after the last token
    """

    def __init__(
        self,
        cell: type[nn.LSTM] | type[nn.GRU],
        d_in: int,
        hidden: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.rnn = cell(d_in, hidden, layers, batch_first=True, dropout=between)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """All tokens, one after the other."""
        out, after = self.rnn(x, state if state is None or len(state) == 2 else state[0])
        return out, after if isinstance(after, tuple) else (after,)

    def read(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
        """Padded sentences; the state returned is the one after each sentence's last token."""
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        out, after = self.rnn(packed)
        padded, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
        return padded, after if isinstance(after, tuple) else (after,)


MakeStack = Callable[[int, int, int, float], Stack]  # (d_in, hidden, layers, dropout)


def initialize_recurrent(stack: Stack) -> None:
    """Orthogonal recurrent matrices (Saxe et al. 2014); the LSTM's forget gate starts open.

    A forget bias of one follows Gers et al. 2000 and Jozefowicz et al. 2015; torch's default lets
    the cell state lose half of its content at every step.
    """
    hidden = stack.rnn.hidden_size
    for name, parameter in stack.rnn.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
            if isinstance(stack.rnn, nn.LSTM) and "bias_ih" in name:
                with torch.no_grad():  # torch's order of gates: input, forget, cell, output
                    parameter[hidden : 2 * hidden] = 1.0
            continue
        for gate in parameter.data.split(hidden):  # the matrix of each gate separately
            (nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_)(gate)


class BahdanauAttention(nn.Module):
    r"""Additive attention (Bahdanau, Cho and Bengio 2015, equations 5 and 6, appendix A.1.2).

    .. math::
        e_{ij} &= v^\top \tanh(W s_{i-1} + U h_j) \\
        \alpha_{ij} &= \exp(e_{ij}) / \textstyle\sum_k \exp(e_{ik}) \\
        c_i &= \textstyle\sum_j \alpha_{ij} h_j

    A small network scores each source token, where the Transformer takes a dot product. The query
    is the decoder state *before* the token, so target positions cannot be computed in parallel.

    Shape:
        query: (batch, hidden), keys: (batch, src_len, hidden) from `keys`,
        values: (batch, src_len, hidden), mask: (batch, src_len), True = visible
        -> context (batch, hidden), weights (batch, src_len), which sum to 1
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.w = nn.Linear(hidden, hidden, bias=False)
        self.u = nn.Linear(hidden, hidden)
        self.v = nn.Linear(hidden, 1, bias=False)

    def keys(self, values: Tensor) -> Tensor:
        """U h, computed once per sentence because it does not change."""
        return self.u(values)

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Score, normalize, average."""
        energies = self.v(torch.tanh(self.w(query).unsqueeze(1) + keys)).squeeze(-1)
        energies = energies.masked_fill(~mask, torch.finfo(energies.dtype).min)
        # The product gives zeros, not a uniform distribution, where everything is masked.
        weights = energies.softmax(-1) * mask
        context = (weights.unsqueeze(1) @ values).squeeze(1)  # (batch, 1, src_len) @ values
        return context, weights


class Memory(NamedTuple):
    """The encoder's output for every token, and its state after the last one."""

    outputs: Tensor  # (batch, src_len, hidden)
    state: State


class Source(NamedTuple):
    """What attention reads, the same at every step."""

    keys: Tensor  # (batch, src_len, hidden)
    values: Tensor  # (batch, src_len, hidden)
    mask: Tensor  # (batch, src_len), True = visible


class DecoderState(NamedTuple):
    """What a decoder passes from one token to the next; `source` only with attention."""

    state: State
    source: Source | None = None

    def rows(self, rows: Tensor) -> Self:
        """The state of these rows, (rows,), in this order."""
        source = self.source and Source(*(tensor[rows] for tensor in self.source))
        return self._replace(state=tuple(tensor[:, rows] for tensor in self.state), source=source)

    def nbytes(self) -> int:
        """Memory in bytes."""
        tensors = [*self.state, *(self.source or ())]
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


class PlainDecoder(nn.Module):
    """A decoder without attention, initialized with the encoder's state (Sutskever et al. 2014).

    Unlike Sutskever's, the encoder reads the source forwards, so that distances between source
    and target tokens keep their meaning.

    Shape:
        x: (batch, tgt_len, d_model) embedded tokens -> (batch, tgt_len, d_model)
    """

    def __init__(
        self, stack: MakeStack, d_model: int, hidden: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.stack = stack(d_model, hidden, layers, dropout)
        self.readout = nn.Linear(hidden, d_model)
        self.dropout = nn.Dropout(dropout)

    def start(self, memory: Memory, mask: Tensor) -> DecoderState:
        """The encoder's last state; mask (batch, src_len) is not needed."""
        return DecoderState(memory.state)

    def step(self, x: Tensor, previous: DecoderState) -> tuple[Tensor, DecoderState]:
        """One token per row: (batch, d_model) -> (batch, d_model)."""
        out, state = self.stack(x.unsqueeze(1), previous.state)
        return self.readout(self.dropout(out.squeeze(1))), DecoderState(state)

    def forward(self, x: Tensor, previous: DecoderState) -> Tensor:
        """All tokens in one call of torch's own loop."""
        out, _ = self.stack(x, previous.state)
        return self.readout(self.dropout(out))


class AttentionDecoder(nn.Module):
    """At each step, attend with the previous state, then read the token and the context.

    Shape:
        x: (batch, tgt_len, d_model) embedded tokens -> (batch, tgt_len, d_model)
    """

    def __init__(
        self, stack: MakeStack, d_model: int, hidden: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.attention = BahdanauAttention(hidden)
        self.stack = stack(d_model + hidden, hidden, layers, dropout)
        self.readout = nn.Linear(2 * hidden, d_model)  # of state and context
        self.dropout = nn.Dropout(dropout)

    def start(self, memory: Memory, mask: Tensor) -> DecoderState:
        """The encoder's last state, and its outputs with their keys; mask (batch, src_len)."""
        keys = self.attention.keys(memory.outputs)
        return DecoderState(memory.state, Source(keys, memory.outputs, mask))

    def step(self, x: Tensor, previous: DecoderState) -> tuple[Tensor, DecoderState]:
        """One token per row: (batch, d_model) -> (batch, d_model)."""
        source = previous.source
        assert source is not None, "start() sets it"
        query = previous.state[0][-1]  # (batch, hidden), of the top layer
        context, _ = self.attention(query, source.keys, source.values, source.mask)
        out, state = self.stack(torch.cat((x, context), -1).unsqueeze(1), previous.state)
        combined = torch.cat((out.squeeze(1), context), -1)
        return self.readout(self.dropout(combined)), DecoderState(state, source)

    def forward(self, x: Tensor, previous: DecoderState) -> Tensor:
        """Token by token even in training, since the query is the state before each token."""
        hidden = []
        for token in x.unbind(1):
            out, previous = self.step(token, previous)
            hidden.append(out)
        return torch.stack(hidden, 1)
