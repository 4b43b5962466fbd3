"""The two axes that an operation could not combine, found by the rule of that operation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from torch import Tensor

from clearhead.explain.tracer.axes import Axis, Shape, merged_name, names, numel
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.propagation.reshape import groups


@dataclass(frozen=True)
class Mismatch:
    """`a` and `b` differ where the operation needs one and the same axis.

    `kind` is the way in which they differ (inner, batch, linear, broadcast …); `law` is the
    operation's rule; `index_a` and `index_b` count axes from the end. For ids of a wrong type
    there are no axes, and `problem` says what is wrong.
    """

    kind: str
    a: Axis
    b: Axis
    law: str
    index_a: int = 0
    index_b: int = 0
    problem: str = ""


Finder = Callable[[Call, list[Shape]], Mismatch | None]


def unequal(kind: str, a: Shape, b: Shape, law: str, shift: int = 0) -> Mismatch | None:
    """The first axes from the right whose sizes are neither equal nor 1."""
    for index, (x, y) in enumerate(zip_longest(reversed(a), reversed(b)), start=1):
        if x and y and x.size != y.size and 1 not in (x.size, y.size):
            return Mismatch(kind, x, y, law, shift - index, shift - index)
    return None


def merged(shape: Sequence[Axis], origin: str) -> Axis:
    """Several axes as one that keeps its parts."""
    if len(shape) == 1:
        return shape[0]
    return Axis(numel(shape), merged_name(shape), origin, certain=True, parts=tuple(shape))


def parts_of(axis: Axis) -> tuple[Axis, ...]:
    """The axes that were merged into this one, else the axis itself."""
    return axis.resolved.parts or (axis,)


def wrong_dtype(tensor: Tensor, shape: Shape) -> Mismatch:
    """Ids that are not integers."""
    dtype = str(tensor.dtype)
    problem = f"ids must be integers, and these are {dtype}: {names(shape)}"
    law = "an embedding looks up one row for each integer id (torch.long or torch.int)"
    return Mismatch("dtype", Axis(0, dtype), Axis(0, "integer ids"), law, problem=problem)


def _named(axis: Axis, name: str) -> Axis:
    return axis if axis.resolved.name else Axis(axis.size, name, axis.source, certain=True)


def _matmul(call: Call, shapes: list[Shape]) -> Mismatch | None:
    if len(shapes) < 2 or not shapes[0] or not shapes[1]:
        return None
    a, b = shapes[:2]
    index = -2 if len(b) > 1 else -1
    if a[-1].size != b[index].size:
        law = "a matrix product sums over the left's last axis and the right's second to last"
        return Mismatch("inner", a[-1], b[index], law, -1, index)
    law = "the batch axes in front of the matrices must be equal on both sides"
    return unequal("batch axes", a[:-2], b[:-2], law, -2)


def _linear(call: Call, shapes: list[Shape]) -> Mismatch | None:
    x, weight = shapes[:2]
    if not x or x[-1].size == weight[-1].size:
        return None
    law = "a linear map takes vectors of size in_features along the last axis"
    return Mismatch("linear", x[-1], _named(weight[-1], "in_features"), law, -1, -1)


def _attention(call: Call, shapes: list[Shape]) -> Mismatch | None:
    if len(shapes) < 3 or min(map(len, shapes[:3])) < 2:
        return None
    q, k, v = shapes[:3]
    if q[-1].size != k[-1].size:
        law = "queries and keys are multiplied along their last axis"
        return Mismatch("inner", q[-1], k[-1], law, -1, -1)
    if k[-2].size != v[-2].size:
        return Mismatch("inner", k[-2], v[-2], "every key needs a value", -2, -2)
    law = "queries and keys need the same heads"
    found = unequal("batch axes", q[:-2], k[:-2], law, -2)
    if found or len(shapes) < 4:
        return found
    law = "the mask is broadcast to the scores (batch, h, query, key), aligned from the right"
    return unequal("mask", (*q[:-1], k[-2]), shapes[3], law)


def _einsum(call: Call, shapes: list[Shape]) -> Mismatch | None:
    axes: dict[str, Axis] = {}
    inputs = str(call.args[0]).replace(" ", "").split("->")[0].split(",")
    for letters, shape in zip(inputs, shapes, strict=False):
        for letter, axis in zip(letters, shape, strict=False):
            if axes.setdefault(letter, axis).size != axis.size:
                law = f"one letter is one axis, and {letter!r} is used for both"
                return Mismatch("inner", axes[letter], axis, law)
    return None


def _convolution(call: Call, shapes: list[Shape]) -> Mismatch | None:
    x, weight = shapes[:2]
    index = len(weight) - 1  # of the channels, counted from the end
    if len(x) < index or x[-index].size == weight[1].size:
        return None
    law = "a convolution takes its channels at axis 1: (batch, in_channels, length)"
    channels = _named(weight[1], "in_channels")
    return Mismatch("channels", x[-index], channels, law, -index, 1 - len(weight))


def _embedding(call: Call, shapes: list[Shape]) -> Mismatch | None:
    ids, table = call.argument(0, "input"), shapes[1]
    if not isinstance(ids, Tensor):
        return None
    if ids.is_floating_point():
        return wrong_dtype(ids, shapes[0])
    if not ids.numel():
        return None
    smallest, largest = int(ids.min()), int(ids.max())
    if smallest >= 0 and largest < table[0].size:
        return None
    law = f"the embedding matrix has rows for ids from 0 to {table[0].size - 1:,}"
    rows = _named(table[0], "rows")
    if len(shapes[0]) and shapes[0][-1].size == largest + 1 and not smallest:
        return Mismatch("positions", shapes[0][-1], rows, law, -1, -2)  # ids 0, 1, 2, …
    worst = largest if largest >= table[0].size else smallest
    origin = f"ids {names(shapes[0])} from {smallest:,} to {largest:,}"
    return Mismatch("id", Axis(worst, "id", origin, certain=True), rows, law, 0, -2)


def _view(call: Call, shapes: list[Shape]) -> Mismatch | None:
    """Either the numbers of elements differ, or the elements are not in order in memory."""
    wanted = _requested(call, numel(shapes[0]))
    hints = call.size_hints(0, len(wanted))
    origin = f"requested by {call.at}"
    for old, new, words in groups(shapes[0], wanted, hints):
        made = [call.new_axis(n, word, origin) for n, word in zip(new, words, strict=True)]
        if numel(old) != numel(made):
            law = "the new axes must hold exactly as many elements as the old ones"
            had, want = _without_equal_ends(old, made)
            return Mismatch("view", merged(had, "merged"), merged(want, origin), law)
        if found := _not_contiguous(call, old):
            return found
    return None


def _requested(call: Call, count: int) -> list[int]:
    """The sizes that the call requests, with -1 computed if possible."""
    values = call.args[1] if isinstance(call.args[1], list | tuple) else call.args[1:]
    wanted = [value for value in values if isinstance(value, int)]
    rest = count
    for value in wanted:
        if value != -1:
            rest = rest // value if value and rest % value == 0 else -1
    return [rest if value == -1 and rest > 0 else value for value in wanted]


def _without_equal_ends(
    old: Sequence[Axis], new: Sequence[Axis]
) -> tuple[Sequence[Axis], Sequence[Axis]]:
    """Both without the shortest ends of equal size, as long as both keep an axis."""
    for _ in range(len(old) + len(new)):
        if (cut := _equal_ends(old, new)) is None:
            break
        old, new = old[: len(old) - cut[0]], new[: len(new) - cut[1]]
    while len(old) > 1 and len(new) > 1 and old[0].size == new[0].size:
        old, new = old[1:], new[1:]
    return old, new


def _equal_ends(old: Sequence[Axis], new: Sequence[Axis]) -> tuple[int, int] | None:
    ends = ((i, j) for i in range(1, len(old)) for j in range(1, len(new)))
    return next(((i, j) for i, j in ends if numel(old[-i:]) == numel(new[-j:])), None)


def _not_contiguous(call: Call, old: Shape) -> Mismatch | None:
    """Adjacent axes that are to be merged but are apart in memory."""
    tensor, shape = call.args[0], call.shape(0)
    start = next((i for i, axis in enumerate(shape) if old and axis is old[0]), 0)
    for i in range(start, start + len(old) - 1):
        if tensor.stride(i) != tensor.stride(i + 1) * tensor.shape[i + 1]:
            law = "view merges only axes that are adjacent in memory; a transpose separates them"
            a, b = i - len(shape), i + 1 - len(shape)
            return Mismatch("contiguity", shape[i], shape[i + 1], law, a, b)
    return None


def _cat(call: Call, shapes: list[Shape]) -> Mismatch | None:
    dim = call.dim(0)
    law = f"tensors concatenated along axis {dim} must be equal in all other axes"
    for a, b in pairwise(shapes):
        pairs = list(zip(a, b, strict=False))
        for i, (x, y) in enumerate(pairs):
            if x.size != y.size and i != dim % len(pairs):
                return Mismatch("cat", x, y, law, i - len(a), i - len(b))
    return None


def _layer_norm(call: Call, shapes: list[Shape]) -> Mismatch | None:
    wanted = call.argument(1, "normalized_shape") or ()
    for axis, size in zip(reversed(shapes[0]), reversed(list(wanted)), strict=False):
        if axis.size != size:
            law = "a layer norm takes vectors of its normalized_shape along the last axis"
            found = (call.sizes.name(call.path, size, lengths)[0] for lengths in (False, True))
            name = next(filter(None, found), "normalized_shape")
            built = Axis(size, name, f"normalized_shape at {call.at}", certain=True)
            return Mismatch("norm", axis, built, law, -1, -1)
    return None


def _loss(call: Call, shapes: list[Shape]) -> Mismatch | None:
    """(N, classes) with (N); (batch, classes, length) with (batch, length)."""
    a, b = shapes[:2]
    if a[0].size != b[0].size:
        law = "a loss needs one label for each prediction: (N, classes) with (N)"
        parts = zip(parts_of(a[0]), parts_of(b[0]), strict=False)
        unlike = [(x, y) for x, y in parts if x.size != y.size]
        x, y = unlike[0] if len(unlike) == 1 else (a[0], b[0])
        return Mismatch("labels", x, y, law, -len(a), -len(b))
    if len(a) > 2 and len(b) > 1 and a[2].size != b[1].size:
        law = "classes are at axis 1: (batch, classes, length) with (batch, length)"
        return Mismatch("classes", a[2], b[1], law, 2 - len(a), 1 - len(b))
    return None


FINDERS: dict[str, Finder] = {
    "matmul": _matmul, "rmatmul": _matmul, "bmm": _matmul, "mm": _matmul, "mv": _matmul,
    "linear": _linear, "einsum": _einsum, "scaled_dot_product_attention": _attention,
    "conv1d": _convolution, "conv2d": _convolution, "conv3d": _convolution,
    "embedding": _embedding, "view": _view, "reshape": _view, "cat": _cat, "concat": _cat,
    "concatenate": _cat, "layer_norm": _layer_norm, "cross_entropy": _loss, "nll_loss": _loss,
}  # fmt: skip
