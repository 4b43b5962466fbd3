"""Which law a failed operation has broken, and which two axes broke it."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import Tensor

from clearhead.explain.tracer.axis import Axis, Shape, names, one
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.clashes import layouts, products
from clearhead.explain.tracer.clashes.finding import Finding, unequal
from clearhead.explain.tracer.rows import Operand
from clearhead.explain.tracer.rules.pick import getitem

Finder = Callable[[Call, list[Shape]], Finding | None]
_OF_THREE_AXES = {"bmm": 3, "baddbmm": 3, "mm": 2}


def find(call: Call, inputs: Sequence[Operand], error: Exception) -> Finding | None:
    """The first pair of axes that do not fit, or None if shapes are not to blame."""
    shapes = [operand.shape for operand in inputs]
    if not shapes:
        return None
    if isinstance(error, IndexError) and "Dimension out of range" in str(error):
        return _axis_that_is_not_there(call, shapes[0])
    if found := _rank(call, shapes):
        return found
    return _FINDERS.get(call.name, broadcast)(call, shapes)


def _axis_that_is_not_there(call: Call, shape: Shape) -> Finding | None:
    values = [value for value in (*call.args[1:], *call.kwargs.values()) if type(value) is int]
    asked = next((n for n in values if not -len(shape) <= n < len(shape)), None)
    if asked is None:
        return None
    wanted = Axis(asked, "axis", f"asked for by {call.here}", sure=True)
    law = f"{len(shape)} axes are numbered 0 to {len(shape) - 1}, or -{len(shape)} to -1"
    return Finding("rank", _axes_of(shape), wanted, law)


def _rank(call: Call, shapes: list[Shape]) -> Finding | None:
    """Fewer or more axes than the operation orders, or can take at all."""
    if call.name == "permute":
        order = call.args[1] if isinstance(call.args[1], list | tuple) else call.args[1:]
        count, law = len(order), "permute names every axis once"
    elif call.name in _OF_THREE_AXES:
        count = _OF_THREE_AXES[call.name]
        law = f"{call.name} takes tensors of exactly {count} axes; @ takes any number of them"
    else:
        return None
    shape = next((shape for shape in shapes if len(shape) != count), None)
    if shape is None:
        return None
    wanted = Axis(count, "axes of the call", f"{count} axes are what {call.here} takes", sure=True)
    return Finding("rank", _axes_of(shape), wanted, law)


def _axes_of(shape: Shape) -> Axis:
    return Axis(len(shape), "axes", f"the axes {names(shape)}", sure=True)


def broadcast(call: Call, shapes: list[Shape]) -> Finding | None:
    """Aligned from the right, sizes must be equal or 1."""
    law = "shapes are laid over each other from the right; sizes must be equal, or one of them 1"
    for a, b in pairwise(shapes):
        if found := unequal("broadcast", a, b, law):
            return found
        if len(b) > len(a):
            law = "an operation in place cannot give its tensor more axes than it has"
            return Finding("in place", one("not there"), b[0], law, 0, -len(b))
    return None


def _setitem(call: Call, shapes: list[Shape]) -> Finding | None:
    value = call.args[2] if len(call.args) > 2 else None
    target = getitem(call, ())
    if not isinstance(value, Tensor) or target is None:
        return None
    law = "what is written must fit the part that it is written into"
    return unequal("broadcast", target, call.shape_of(value) or (), law)


_FINDERS: dict[str, Finder] = {
    **products.FINDERS,
    **layouts.FINDERS,
    "stack": broadcast,
    "setitem": _setitem,
}
