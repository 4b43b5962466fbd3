"""The same axes in another order."""

from collections.abc import Sequence

from clearhead.explain.tracer.axis import Shape
from clearhead.explain.tracer.call import Call


def transpose(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Two axes change places."""
    first = call.argument(1, "dim0", call.kwargs.get("axis0"))
    second = call.argument(2, "dim1", call.kwargs.get("axis1"))
    if not isinstance(first, int) or not isinstance(second, int):
        return None
    axes = list(call.shape(0))
    axes[first], axes[second] = axes[second], axes[first]
    return tuple(axes)


def permute(call: Call, wanted: Sequence[int]) -> Shape | None:
    """All axes in a given order."""
    order = call.kwargs.get("dims", call.args[1:])
    if len(order) == 1 and isinstance(order[0], list | tuple):
        order = order[0]
    axes = call.shape(0)
    return tuple(axes[i] for i in order)


def movedim(call: Call, wanted: Sequence[int]) -> Shape | None:
    """One axis goes elsewhere."""
    source, target = call.argument(1, "source"), call.argument(2, "destination")
    if not isinstance(source, int) or not isinstance(target, int):
        return None
    axes = list(call.shape(0))
    moved = axes.pop(source)
    axes.insert(target % (len(axes) + 1), moved)
    return tuple(axes)


def reverse(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`x.T`, `x.t()`."""
    return tuple(reversed(call.shape(0)))


def swap_last(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`x.mT`."""
    axes = call.shape(0)
    return (*axes[:-2], axes[-1], axes[-2])


RULES = {
    "transpose": transpose, "swapaxes": transpose, "swapdims": transpose, "permute": permute,
    "movedim": movedim, "moveaxis": movedim, "t": reverse, "T": reverse, "H": reverse,
    "mT": swap_last, "mH": swap_last, "adjoint": swap_last,
}  # fmt: skip
