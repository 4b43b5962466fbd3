"""Products: one axis is summed over and disappears. Also recurrent layers and convolutions."""

from collections.abc import Sequence

from clearhead.explain.tracer.axes import Axis, Shape
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.propagation.dimensions import broadcast_pair


def matmul(call: Call, wanted: Sequence[int]) -> Shape | None:
    """(…, n, k) @ (…, k, m) -> (…, n, m); a vector has one axis only."""
    return _product(call, call.shape(0), call.shape(1, "other") or call.shape(1, "mat2"))


def _product(call: Call, a: Shape, b: Shape) -> Shape | None:
    if not a or not b:
        return None
    inner = b[-2] if len(b) > 1 else b[-1]
    if a[-1].size != inner.size:
        return None
    call.unify(a[-1], inner)
    batch = broadcast_pair(call, a[:-2], b[:-2])
    if batch is None:
        return None
    rows = a[-2:-1] if len(a) > 1 else ()
    return (*batch, *rows, *(b[-1:] if len(b) > 1 else ()))


def linear(call: Call, wanted: Sequence[int]) -> Shape | None:
    """x Wᵀ + b: the last axis becomes the weight's first."""
    x, weight = call.shape(0), call.shape(1, "weight")
    if len(weight) != 2 or x[-1].size != weight[1].size:
        return None
    call.unify(x[-1], weight[1])
    return (*x[:-1], weight[0])


def addmm(call: Call, wanted: Sequence[int]) -> Shape | None:
    """b + x W."""
    return _product(call, call.shape(1, "mat1"), call.shape(2, "mat2"))


def scaled_dot_product_attention(call: Call, wanted: Sequence[int]) -> Shape | None:
    """(…, query, d_k), (…, key, d_k), (…, key, d_v) -> (…, query, d_v)."""
    q, k, v = call.shape(0, "query"), call.shape(1, "key"), call.shape(2, "value")
    if not q or not k or not v:
        return None
    call.unify(q[-1], k[-1])
    call.unify(k[-2], v[-2])
    return (*q[:-1], v[-1])


def embedding(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Every id becomes a row of the embedding matrix."""
    return (*call.shape(0), *call.shape(1, "weight")[1:])


def einsum(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Equal letters are one axis."""
    equation = str(call.args[0]).replace(" ", "")
    if "..." in equation or "->" not in equation:
        return None
    inputs, output = equation.split("->")
    axes: dict[str, Axis] = {}
    for letters, tensor in zip(inputs.split(","), call.tensors(), strict=False):
        for letter, axis in zip(letters, call.shape_of(tensor) or (), strict=False):
            if letter in axes and axes[letter].size == axis.size:
                call.unify(axes[letter], axis)
            axes.setdefault(letter, axis)
    return tuple(axes[letter] for letter in output if letter in axes)


def outer(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Every element of one vector times every element of the other."""
    return (*call.shape(0), *call.shape(1, "vec2"))


def recurrent(call: Call, wanted: Sequence[int]) -> Shape | None:
    """(batch, seq_len, input_size) -> (batch, seq_len, hidden) and (layers, batch, hidden)."""
    x = call.shape(0)
    last = Axis(wanted[-1], "hidden", f"hidden_size at {call.at}", certain=True)
    if len(x) == len(wanted) and [axis.size for axis in x[:-1]] == list(wanted[:-1]):
        return (*x[:-1], last)
    batch = next((axis for axis in x if axis.label == "batch"), None)
    if len(wanted) == 3 and batch is not None and batch.size == wanted[1]:
        return (Axis(wanted[0], "layers", call.at, certain=True), batch, last)
    return None


def convolution(call: Call, wanted: Sequence[int]) -> Shape | None:
    """(batch, in_channels, …) -> (batch, out_channels, …); lengths may shrink."""
    x, weight = call.shape(0), call.shape(1, "weight")
    if len(x) != len(wanted):
        return None
    call.unify(x[1], weight[1])
    lengths = [
        axis if axis.size == size else Axis(size, "", f"{axis.label} after {call.at}")
        for axis, size in zip(x[2:], wanted[2:], strict=True)
    ]
    return (x[0], weight[0], *lengths)


RULES = {
    "matmul": matmul, "rmatmul": matmul, "bmm": matmul, "mm": matmul, "mv": matmul, "dot": matmul,
    "linear": linear, "addmm": addmm, "baddbmm": addmm, "einsum": einsum, "outer": outer,
    "embedding": embedding, "scaled_dot_product_attention": scaled_dot_product_attention,
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), recurrent),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), convolution),
}  # fmt: skip
