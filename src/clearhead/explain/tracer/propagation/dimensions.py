"""Operations on whole axes: elementwise with broadcasting, reductions, transposes, size-1 axes."""

from collections.abc import Sequence
from itertools import zip_longest

from clearhead.explain.tracer.axes import Axis, Shape, broadcast_axis
from clearhead.explain.tracer.call import Call


def broadcast(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Elementwise operations: shapes are aligned from the right, a 1 takes the other's size."""
    shapes = [call.shape_of(tensor) or () for tensor in call.tensors()]
    result: Shape | None = None
    for shape in shapes:
        result = shape if result is None else broadcast_pair(call, result, shape)
        if result is None:
            return None
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


def transpose(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Two axes are exchanged."""
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
    """One axis is moved."""
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


RULES = {
    "transpose": transpose, "swapaxes": transpose, "swapdims": transpose, "permute": permute,
    "movedim": movedim, "moveaxis": movedim, "t": reverse, "T": reverse, "H": reverse,
    "mT": swap_last, "mH": swap_last, "adjoint": swap_last, "unsqueeze": unsqueeze,
    "squeeze": squeeze,
    **dict.fromkeys(
        (
            "mean", "sum", "std", "var", "prod", "max", "min", "amax", "amin", "argmax", "argmin",
            "norm", "logsumexp", "any", "all", "median", "nanmean", "nansum", "count_nonzero",
            "std_mean", "var_mean", "vector_norm", "mode", "aminmax",
        ),
        reduce,
    ),
}  # fmt: skip
