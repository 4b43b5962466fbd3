"""Operations on whole axes: elementwise with broadcasting, reductions, transposes, products.

In a product one axis is summed over and disappears; so in convolutions and recurrent layers.
"""

from collections.abc import Sequence
from itertools import zip_longest

import torch
from torch import nn

from clearhead.explain.tracer.axes import Axis, Shape, broadcast_axis
from clearhead.explain.tracer.call import Call


def broadcast(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Elementwise operations: shapes are aligned from the right, a 1 takes the other's size."""
    shapes = [call.shape_of(tensor) for tensor in call.tensors()]
    result: Shape | None = shapes[0] if shapes else None
    for shape in shapes[1:]:
        result = broadcast_pair(call, result, shape) if result is not None else None
    return result


def broadcast_pair(call: Call, a: Shape, b: Shape) -> Shape | None:
    """The common shape of two, or None if they cannot be broadcast."""
    pairs = zip_longest(reversed(a), reversed(b))
    axes = [_one_of(call, x or broadcast_axis(), y or broadcast_axis()) for x, y in pairs]
    fitting = [axis for axis in axes if axis is not None]
    return tuple(reversed(fitting)) if len(fitting) == len(axes) else None


def _one_of(call: Call, a: Axis, b: Axis) -> Axis | None:
    if a.size != b.size:
        return a if b.size == 1 else b if a.size == 1 else None
    if a.broadcasts or b.broadcasts:
        return b if a.broadcasts else a
    call.unify(a, b)
    return a


def reduce(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Mean, sum, maximum …: an axis is dropped, or with `keepdim` becomes a 1."""
    axes = call.shape(0)
    reduced = _reduced(call, len(axes))
    keepdim = call.kwargs.get("keepdim", len(wanted) == len(axes) > 0)
    at = call.location.short if call.location else "?"
    return tuple(
        broadcast_axis(f"{call.name} over {axis.label} at {at}") if i in reduced else axis
        for i, axis in enumerate(axes)
        if keepdim or i not in reduced
    )


def _reduced(call: Call, rank: int) -> set[int]:
    dim = call.dim()
    if dim is None or isinstance(dim, bool):
        return set(range(rank))
    chosen = dim if isinstance(dim, list | tuple) else [dim]
    return {d % rank for d in chosen if isinstance(d, int) and rank}


def move(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Transposes: torch moves the axes of a tensor in which the size of each axis is its index."""
    axes = call.shape(0)
    probe = torch.empty(tuple(range(len(axes))))
    moved = getattr(probe, call.name)
    if callable(moved):
        moved = moved(*call.args[1:], **{k: v for k, v in call.kwargs.items() if k != "input"})
    return tuple(axes[index] for index in moved.shape)


def unsqueeze(call: Call, wanted: Sequence[int]) -> Shape | None:
    """An axis of size 1 is inserted."""
    axes, dim = call.shape(0), call.argument(1, "dim")
    dim %= len(axes) + 1
    return (*axes[:dim], broadcast_axis(f"inserted by {call.at}"), *axes[dim:])


def squeeze(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Axes of size 1 are dropped."""
    axes, dim = call.shape(0), call.argument(1, "dim")
    dims = range(len(axes)) if dim is None else [dim] if isinstance(dim, int) else dim
    dropped = {d % len(axes) for d in dims if axes[d].size == 1}
    return tuple(axis for i, axis in enumerate(axes) if i not in dropped)


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
    _take_name(call, x[-1])
    call.unify(x[-1], weight[1])
    return (*x[:-1], weight[0])


def _take_name(call: Call, axis: Axis) -> None:
    """The d_model of `nn.MultiheadAttention` is the axis that arrives, as in `nn.Linear`."""
    module, own = call.sizes.modules.get(call.path), call.sizes.own.get(call.path, {})
    known = axis.resolved.name not in ("", "d_model", "h·d_k") and own.get("d_model") == axis.size
    if not isinstance(module, nn.MultiheadAttention) or not known:
        return
    for name in {"d_model", "kdim", "vdim"} & own.keys():
        del own[name]
    own[axis.label] = axis.size
    call.sizes.arrived.add(axis.label)
    for part in (part for tensor in module.parameters() for part in call.shape_of(tensor)):
        part.name = axis.label if part.label == "d_model" else part.name


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
        for letter, axis in zip(letters, call.shape_of(tensor), strict=False):
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
        # lstm(x, state, weights, biases, layers, dropout, training, bidirectional, batch_first)
        name = "layers·directions" if call.args[7] is True else "layers"
        return (Axis(wanted[0], name, call.at, certain=True), batch, last)
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


MOVES = {
    "transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis", "t", "T", "H", "mT",
    "mH", "adjoint",
}  # fmt: skip
RULES = {
    **dict.fromkeys(MOVES, move), "unsqueeze": unsqueeze, "squeeze": squeeze,
    **dict.fromkeys(
        (
            "mean", "sum", "std", "var", "prod", "max", "min", "amax", "amin", "argmax", "argmin",
            "norm", "logsumexp", "any", "all", "median", "nanmean", "nansum", "count_nonzero",
            "std_mean", "var_mean", "vector_norm", "mode", "aminmax",
        ),
        reduce,
    ),
    "matmul": matmul, "rmatmul": matmul, "bmm": matmul, "mm": matmul, "mv": matmul, "dot": matmul,
    "linear": linear, "addmm": addmm, "baddbmm": addmm, "einsum": einsum, "outer": outer,
    "embedding": embedding, "scaled_dot_product_attention": scaled_dot_product_attention,
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), recurrent),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), convolution),
}  # fmt: skip
