"""Products: which axis is summed away, which stay."""

from collections.abc import Sequence

from clearhead.explain.tracer.axis import Axis, Shape
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.rules.pointwise import stretch


def matmul(call: Call, wanted: Sequence[int]) -> Shape | None:
    """(…, n, k) @ (…, k, m) -> (…, n, m); vectors have one axis only."""
    return _product(call, call.shape(0), call.shape(1, "other") or call.shape(1, "mat2"))


def _product(call: Call, a: Shape, b: Shape) -> Shape | None:
    if not a or not b:
        return None
    inner = b[-2] if len(b) > 1 else b[-1]
    if a[-1].size != inner.size:
        return None
    call.meet(a[-1], inner)
    stack = stretch(call, a[:-2], b[:-2])
    if stack is None:
        return None
    rows = a[-2:-1] if len(a) > 1 else ()
    return (*stack, *rows, *(b[-1:] if len(b) > 1 else ()))


def linear(call: Call, wanted: Sequence[int]) -> Shape | None:
    """x Wᵀ + b: the last axis becomes the weight's first."""
    x, weight = call.shape(0), call.shape(1, "weight")
    if len(weight) != 2 or x[-1].size != weight[1].size:
        return None
    call.meet(x[-1], weight[1])
    return (*x[:-1], weight[0])


def addmm(call: Call, wanted: Sequence[int]) -> Shape | None:
    """b + x W."""
    return _product(call, call.shape(1, "mat1"), call.shape(2, "mat2"))


def scaled_dot_product_attention(call: Call, wanted: Sequence[int]) -> Shape | None:
    """(…, query, d_k), (…, key, d_k), (…, key, d_v) -> (…, query, d_v)."""
    q, k, v = call.shape(0, "query"), call.shape(1, "key"), call.shape(2, "value")
    if not q or not k or not v:
        return None
    call.meet(q[-1], k[-1])
    call.meet(k[-2], v[-2])
    return (*q[:-1], v[-1])


def embedding(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Every id becomes a row of the table."""
    return (*call.shape(0), *call.shape(1, "weight")[1:])


def einsum(call: Call, wanted: Sequence[int]) -> Shape | None:
    """The letters are names already: equal letters are one axis."""
    equation = str(call.args[0]).replace(" ", "")
    if "..." in equation or "->" not in equation:
        return None
    inputs, output = equation.split("->")
    axes: dict[str, Axis] = {}
    for letters, tensor in zip(inputs.split(","), call.tensors(), strict=False):
        for letter, axis in zip(letters, call.shape_of(tensor) or (), strict=False):
            if letter in axes and axes[letter].size == axis.size:
                call.meet(axes[letter], axis)
            axes.setdefault(letter, axis)
    return tuple(axes[letter] for letter in output if letter in axes)


def outer(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Every number of one with every number of the other."""
    return (*call.shape(0), *call.shape(1, "vec2"))


RULES = {
    "matmul": matmul, "rmatmul": matmul, "bmm": matmul, "mm": matmul, "mv": matmul, "dot": matmul,
    "linear": linear, "addmm": addmm, "baddbmm": addmm, "einsum": einsum, "outer": outer,
    "embedding": embedding, "scaled_dot_product_attention": scaled_dot_product_attention,
}  # fmt: skip
