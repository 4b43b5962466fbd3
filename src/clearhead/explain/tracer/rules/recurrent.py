"""Recurrent layers of torch.nn: the sequence keeps its axes, the width becomes the hidden one."""

from collections.abc import Sequence

from clearhead.explain.tracer.axis import Axis, Shape, canonical
from clearhead.explain.tracer.call import Call

HIDDEN = "hidden"


def recurrent(call: Call, wanted: Sequence[int]) -> Shape | None:
    """(batch, seq_len, input_size) -> (batch, seq_len, hidden) and (layers, batch, hidden)."""
    x = call.shape(0)
    last = Axis(wanted[-1], HIDDEN, f"hidden_size at {call.here}", sure=True)
    if len(x) == len(wanted) and [axis.size for axis in x[:-1]] == list(wanted[:-1]):
        return (*x[:-1], last)
    batch = next((axis for axis in x if axis.label == canonical("batch")), None)
    if len(wanted) == 3 and batch is not None and batch.size == wanted[1]:
        return (Axis(wanted[0], "layers", call.here, sure=True), batch, last)
    return None


RULES = dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), recurrent)
