"""Where two axes of different sizes met: a shape error looked into once more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from torch import Tensor

from clearhead.explain.tracer.axis import Axis, Shape, joined, names, numel, one
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.rows import Operand
from clearhead.explain.tracer.rules.pick import getitem
from clearhead.explain.tracer.rules.reshape import groups


@dataclass(frozen=True)
class Finding:
    """`a` met `b` where the operation needs one and the same axis.

    `kind` says in which way: inner, stack, linear, broadcast, …; `law` says in words
    what the operation needs; `place_a` and `place_b` count axes from the end.
    """

    kind: str
    a: Axis
    b: Axis
    law: str
    place_a: int = 0
    place_b: int = 0


def find(call: Call, inputs: Sequence[Operand], error: Exception) -> Finding | None:
    """The first pair of axes that do not fit, or None if shapes are not to blame."""
    shapes = [operand.shape for operand in inputs]
    if isinstance(error, IndexError) and "Dimension out of range" in str(error) and shapes:
        return _rank(call, shapes[0])
    finder = _FINDERS.get(call.name, _broadcast)
    return finder(call, shapes) if shapes else None


def _rank(call: Call, shape: Shape) -> Finding | None:
    """An axis was asked for that is not there."""
    numbers = [value for value in (*call.args[1:], *call.kwargs.values()) if type(value) is int]
    asked = next((n for n in numbers if not -len(shape) <= n < len(shape)), None)
    if asked is None:
        return None
    have = Axis(len(shape), "axes", f"the axes {names(shape)}", sure=True)
    wanted = Axis(asked, "axis", f"asked for by {call.here}", sure=True)
    law = f"{len(shape)} axes are numbered 0 to {len(shape) - 1}, or -{len(shape)} to -1"
    return Finding("rank", have, wanted, law)


def _matmul(call: Call, shapes: list[Shape]) -> Finding | None:
    if len(shapes) < 2 or not shapes[0] or not shapes[1]:
        return None
    a, b = shapes[:2]
    place = -2 if len(b) > 1 else -1
    if a[-1].size != b[place].size:
        law = "a product sums over the last axis of the left and the last but one of the right"
        return Finding("inner", a[-1], b[place], law, -1, place)
    law = "the axes in front of the matrices must be the same on both sides"
    return _unequal("stack", a[:-2], b[:-2], law, -2)


def _linear(call: Call, shapes: list[Shape]) -> Finding | None:
    x, weight = shapes[:2]
    if not x or x[-1].size == weight[-1].size:
        return None
    law = "a linear map takes vectors of its in_features, which lie along the last axis"
    return Finding("linear", x[-1], weight[-1], law, -1, -1)


def _broadcast(call: Call, shapes: list[Shape]) -> Finding | None:
    """Aligned from the right, sizes must be equal or 1."""
    law = "shapes are laid over each other from the right; sizes must be equal, or one of them 1"
    for a, b in pairwise(shapes):
        if found := _unequal("broadcast", a, b, law, 0):
            return found
        if len(b) > len(a):
            law = "an operation in place cannot give its tensor more axes than it has"
            return Finding("in place", one("not there"), b[0], law, 0, -len(b))
    return None


def _unequal(kind: str, a: Shape, b: Shape, law: str, shift: int) -> Finding | None:
    for place, (x, y) in enumerate(zip_longest(reversed(a), reversed(b)), start=1):
        if x and y and x.size != y.size and 1 not in (x.size, y.size):
            return Finding(kind, x, y, law, shift - place, shift - place)
    return None


def _view(call: Call, shapes: list[Shape]) -> Finding | None:
    """Either the numbers do not suffice, or they lie in another order than they are read."""
    values = call.args[1] if isinstance(call.args[1], list | tuple) else call.args[1:]
    wanted = [value for value in values if isinstance(value, int)]
    rest = numel(shapes[0])
    known = [value for value in wanted if value != -1]
    for value in known:
        rest = rest // value if value and rest % value == 0 else -1
    filled = [rest if value == -1 and rest > 0 else value for value in wanted]
    hints = call.size_hints(0, len(filled))
    for old, new, words in groups(shapes[0], filled, hints):
        made = [
            call.new_axis(size, word, f"asked for by {call.here}")
            for size, word in zip(new, words, strict=True)
        ]
        if numel(old) != numel(made):
            law = "the new axes must hold exactly as many numbers as the old ones"
            asked = f"asked for by {call.here}"
            return Finding("view", _one_axis(old, "laid end to end"), _one_axis(made, asked), law)
        if found := _not_in_order(call, old):
            return found
    return None


def _one_axis(shape: Sequence[Axis], story: str) -> Axis:
    return shape[0] if len(shape) == 1 else Axis(numel(shape), joined(shape), story, sure=True)


def _not_in_order(call: Call, old: Shape) -> Finding | None:
    """Neighbours that are to be merged, but lie apart in memory."""
    tensor, shape = call.args[0], call.shape(0)
    start = next((i for i, axis in enumerate(shape) if old and axis is old[0]), 0)
    for i in range(start, start + len(old) - 1):
        if tensor.stride(i) != tensor.stride(i + 1) * tensor.shape[i + 1]:
            law = "view merges only what lies side by side in memory; a transpose moves it apart"
            return Finding("order", shape[i], shape[i + 1], law, i - len(shape), i + 1 - len(shape))
    return None


def _cat(call: Call, shapes: list[Shape]) -> Finding | None:
    dim = call.argument(1, "dim", call.kwargs.get("axis", 0))
    law = f"put end to end along axis {dim}, all the other axes must be equal"
    for a, b in pairwise(shapes):
        pairs = list(zip(a, b, strict=False))
        for i, (x, y) in enumerate(pairs):
            if x.size != y.size and i != dim % len(pairs):
                return Finding("cat", x, y, law, i - len(a), i - len(b))
    return None


def _layer_norm(call: Call, shapes: list[Shape]) -> Finding | None:
    wanted = call.argument(1, "normalized_shape") or ()
    for axis, size in zip(reversed(shapes[0]), reversed(list(wanted)), strict=False):
        if axis.size != size:
            expected = call.new_axis(size, None, "normalized_shape of the layer norm")
            law = "a layer norm takes vectors of its normalized_shape, along the last axis"
            return Finding("linear", axis, expected, law, -1, -1)
    return None


def _attention(call: Call, shapes: list[Shape]) -> Finding | None:
    if len(shapes) < 3 or min(map(len, shapes[:3])) < 2:
        return None
    q, k, v = shapes[:3]
    if q[-1].size != k[-1].size:
        law = "queries and keys are compared along their last axis"
        return Finding("inner", q[-1], k[-1], law, -1, -1)
    if k[-2].size != v[-2].size:
        return Finding("inner", k[-2], v[-2], "every key needs its value", -2, -2)
    return _unequal("stack", q[:-2], k[:-2], "queries and keys need the same heads", -2)


def _setitem(call: Call, shapes: list[Shape]) -> Finding | None:
    value = call.args[2] if len(call.args) > 2 else None
    target = getitem(call, ())
    if not isinstance(value, Tensor) or target is None:
        return None
    law = "what is written must fit the part that it is written into"
    return _unequal("broadcast", target, call.shape_of(value) or (), law, 0)


def _einsum(call: Call, shapes: list[Shape]) -> Finding | None:
    axes: dict[str, Axis] = {}
    inputs = str(call.args[0]).replace(" ", "").split("->")[0].split(",")
    for letters, shape in zip(inputs, shapes, strict=False):
        for letter, axis in zip(letters, shape, strict=False):
            if axes.setdefault(letter, axis).size != axis.size:
                law = f"one letter is one axis, and {letter!r} stands for both"
                return Finding("inner", axes[letter], axis, law)
    return None


def _loss(call: Call, shapes: list[Shape]) -> Finding | None:
    law = "a loss needs one label a prediction: (N, classes) against (N)"
    a, b = shapes[:2]
    if a[0].size != b[0].size:
        return Finding("loss", a[0], b[0], law, -len(a), -len(b))
    if len(a) > 2 and len(b) > 1 and a[2].size != b[1].size:
        return Finding("loss", a[1], b[1], law, 1 - len(a), 1 - len(b))
    return None


_FINDERS: dict[str, Callable[[Call, list[Shape]], Finding | None]] = {
    "matmul": _matmul, "rmatmul": _matmul, "bmm": _matmul, "mm": _matmul, "mv": _matmul,
    "linear": _linear, "view": _view, "reshape": _view, "cat": _cat, "concat": _cat,
    "stack": _broadcast, "layer_norm": _layer_norm, "setitem": _setitem, "einsum": _einsum,
    "scaled_dot_product_attention": _attention, "cross_entropy": _loss, "nll_loss": _loss,
}  # fmt: skip
