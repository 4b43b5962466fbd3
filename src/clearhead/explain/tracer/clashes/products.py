"""Clashes of products: matrices, linear maps, attention, convolutions, tables."""

from torch import Tensor

from clearhead.explain.tracer.axis import Axis, Shape, names
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.clashes.finding import Finding, unequal


def matmul(call: Call, shapes: list[Shape]) -> Finding | None:
    """The axis that is summed away, or those in front of the matrices."""
    if len(shapes) < 2 or not shapes[0] or not shapes[1]:
        return None
    a, b = shapes[:2]
    place = -2 if len(b) > 1 else -1
    if a[-1].size != b[place].size:
        law = "a product sums over the last axis of the left and the last but one of the right"
        return Finding("inner", a[-1], b[place], law, -1, place)
    law = "the axes in front of the matrices must be the same on both sides"
    return unequal("stack", a[:-2], b[:-2], law, -2)


def linear(call: Call, shapes: list[Shape]) -> Finding | None:
    """What comes in, and in_features."""
    x, weight = shapes[:2]
    if not x or x[-1].size == weight[-1].size:
        return None
    law = "a linear map takes vectors of its in_features, which lie along the last axis"
    return Finding("linear", x[-1], _named(weight[-1], "in_features"), law, -1, -1)


def _named(axis: Axis, name: str) -> Axis:
    return axis if axis.known.name else Axis(axis.size, name, axis.story, sure=True)


def attention(call: Call, shapes: list[Shape]) -> Finding | None:
    """The fused kernel: queries, keys, values, and a mask over their scores."""
    if len(shapes) < 3 or min(map(len, shapes[:3])) < 2:
        return None
    q, k, v = shapes[:3]
    if q[-1].size != k[-1].size:
        law = "queries and keys are compared along their last axis"
        return Finding("inner", q[-1], k[-1], law, -1, -1)
    if k[-2].size != v[-2].size:
        return Finding("inner", k[-2], v[-2], "every key needs its value", -2, -2)
    law = "queries and keys need the same heads"
    found = unequal("stack", q[:-2], k[:-2], law, -2)
    if found or len(shapes) < 4:
        return found
    law = "the mask is laid over the scores (batch, h, query, key), from the right"
    return unequal("mask", (*q[:-1], k[-2]), shapes[3], law)


def einsum(call: Call, shapes: list[Shape]) -> Finding | None:
    """One letter that stands for two sizes."""
    axes: dict[str, Axis] = {}
    inputs = str(call.args[0]).replace(" ", "").split("->")[0].split(",")
    for letters, shape in zip(inputs, shapes, strict=False):
        for letter, axis in zip(letters, shape, strict=False):
            if axes.setdefault(letter, axis).size != axis.size:
                law = f"one letter is one axis, and {letter!r} stands for both"
                return Finding("inner", axes[letter], axis, law)
    return None


def convolution(call: Call, shapes: list[Shape]) -> Finding | None:
    """Channels stand at axis 1, or, without a batch, in front."""
    x, weight = shapes[:2]
    place = len(weight) - 1  # channels and places, counted from the end
    if len(x) < place or x[-place].size == weight[1].size:
        return None
    law = "a convolution takes its channels at axis 1: (batch, in_channels, length)"
    return Finding(
        "channels", x[-place], _named(weight[1], "in_channels"), law, -place, 1 - len(weight)
    )


def embedding(call: Call, shapes: list[Shape]) -> Finding | None:
    """An id that has no row."""
    ids, table = call.argument(0, "input"), shapes[1]
    if not isinstance(ids, Tensor) or not ids.numel():
        return None
    smallest, largest = int(ids.min()), int(ids.max())
    if smallest >= 0 and largest < table[0].size:
        return None
    law = f"ids from 0 to {table[0].size - 1:,} have a row of the table"
    counted = len(shapes[0]) and shapes[0][-1].size == largest + 1 and not smallest
    rows = _named(table[0], "rows")
    if counted:  # 0, 1, 2, …: these ids are places
        return Finding("places", shapes[0][-1], rows, law, -1, -2)
    worst = largest if largest >= table[0].size else smallest
    story = f"ids {names(shapes[0])} from {smallest:,} to {largest:,}"
    return Finding("id", Axis(worst, "id", story, sure=True), rows, law, 0, -2)


FINDERS = {
    "matmul": matmul, "rmatmul": matmul, "bmm": matmul, "mm": matmul, "mv": matmul,
    "linear": linear, "einsum": einsum, "scaled_dot_product_attention": attention,
    "conv1d": convolution, "conv2d": convolution, "conv3d": convolution, "embedding": embedding,
}  # fmt: skip
