"""What came before attention: recurrent layers and convolutions of torch.nn."""

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


def convolution(call: Call, wanted: Sequence[int]) -> Shape | None:
    """(batch, in_channels, …) -> (batch, out_channels, …), where lengths may have shrunk."""
    x, weight = call.shape(0), call.shape(1, "weight")
    if len(x) != len(wanted):
        return None
    call.meet(x[1], weight[1])
    places = [
        axis if axis.size == size else Axis(size, "", f"{axis.label} after {call.here}")
        for axis, size in zip(x[2:], wanted[2:], strict=True)
    ]
    return (x[0], weight[0], *places)


RULES = {
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), recurrent),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), convolution),
}
