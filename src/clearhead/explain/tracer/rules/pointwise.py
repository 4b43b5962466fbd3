"""Sums, masks, softmax, dropout, …: whatever works number by number, with broadcasting."""

from collections.abc import Sequence
from itertools import zip_longest

from clearhead.explain.tracer.axis import Axis, Shape, one
from clearhead.explain.tracer.call import Call


def broadcast(call: Call, wanted: Sequence[int]) -> Shape | None:
    """The shapes aligned from the right; a 1 takes the other's size and name."""
    shapes = [call.shape_of(tensor) or () for tensor in call.tensors()]
    result: Shape | None = None
    for shape in shapes:
        result = shape if result is None else stretch(call, result, shape)
        if result is None:
            return None
    return result


def stretch(call: Call, a: Shape, b: Shape) -> Shape | None:
    """One shape for both, or None if they do not fit."""
    pairs = zip_longest(reversed(a), reversed(b))
    axes = [_one_of(call, x or one(), y or one()) for x, y in pairs]
    fitting = [axis for axis in axes if axis is not None]
    return tuple(reversed(fitting)) if len(fitting) == len(axes) else None


def _one_of(call: Call, a: Axis, b: Axis) -> Axis | None:
    if a.size != b.size:
        return a if b.size == 1 else b if a.size == 1 else None
    if a.stretches or b.stretches:
        return b if a.stretches else a
    call.meet(a, b)
    return a
