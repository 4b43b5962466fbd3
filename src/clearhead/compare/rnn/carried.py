"""What a recurrent decoder takes with it from one token to the next."""

from typing import NamedTuple

from torch import Tensor

from clearhead.compare.rnn.stacks import State


class Memory(NamedTuple):
    """What the encoder hands over: an output a token, and the state after the last one."""

    outputs: Tensor  # (batch, src_len, hidden)
    state: State


class Source(NamedTuple):
    """What attention looks at, the same at every step."""

    keys: Tensor  # (batch, src_len, hidden)
    values: Tensor  # (batch, src_len, hidden)
    mask: Tensor  # (batch, src_len), True = may look


class Carried(NamedTuple):
    """The state, and the source for those who attend."""

    state: State
    source: Source | None = None

    def nbytes(self) -> int:
        """Memory that a sentence holds while it is written."""
        tensors = [*self.state, *(self.source or ())]
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
