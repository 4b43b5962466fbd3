"""Parts of a tensor, and several put together."""

import ast
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from clearhead.explain.tracer.axis import LENGTHS, Axis, Shape, one
from clearhead.explain.tracer.call import Call


def getitem(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`x[:, :length, None]`: slices keep an axis, numbers drop it, None adds one."""
    axes = list(call.shape(0))
    index = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    if any(isinstance(item, list | bool) for item in index):
        return None
    written = _written(call, len(index))
    missing = len(axes) - sum(item is not None and item is not Ellipsis for item in index)
    result: list[Axis] = []
    for item, node in zip(index, written, strict=True):
        if item is Ellipsis:
            result.extend(axes.pop(0) for _ in range(missing))
        elif item is None:
            result.append(one(f"added by {call.here}"))
        else:
            result.extend(_item(call, axes.pop(0), item, node))
    return (*result, *axes)


def _written(call: Call, count: int) -> list[ast.expr | None]:
    node = call.place.node if call.place else None
    index = node.slice if isinstance(node, ast.Subscript) else None
    items: list[ast.expr | None] = [index]
    if isinstance(index, ast.Tuple):
        items = list(index.elts)
    return items if len(items) == count else [None] * count


def _item(call: Call, axis: Axis, item: Any, node: ast.expr | None) -> list[Axis]:
    if isinstance(item, Tensor):
        return list(call.shape_of(item) or ())
    if not isinstance(item, slice):
        return []
    return [axis if item == slice(None) else _sliced(call, axis, item, node)]


def _sliced(call: Call, axis: Axis, item: slice, node: ast.expr | None) -> Axis:
    """A slice is a new axis: `:length` is named by its bound, or by what it meets later."""
    start, stop, step = item.indices(axis.size)
    size = len(range(start, stop, step))
    origin = f"a slice of {axis.label} ({axis.size}) at {call.place.short if call.place else '?'}"
    bound = node.upper if isinstance(node, ast.Slice) else None
    if bound is not None and not start and step == 1 and call.hints:
        hint = call.hints.read([bound])[0]
        if hint is not None:
            return call.new_axis(size, hint, origin)
    if step > 1 and axis.known.name:
        return Axis(size, f"{axis.label}/{step}", origin, sure=True)
    return Axis(size, _shortened(axis, size, node), origin)


def _shortened(axis: Axis, size: int, node: ast.expr | None) -> str:
    """`x[:, :-1]` leaves seq_len−1; a bound that was computed may be anything."""
    bounds = [node.lower, node.upper] if isinstance(node, ast.Slice) else []
    literal = [b for b in bounds if isinstance(b, ast.Constant | ast.UnaryOp)]
    cut = axis.size - size
    if axis.label in LENGTHS and len(literal) == sum(b is not None for b in bounds) and 0 < cut < 3:
        return f"{axis.label}−{cut}"
    return ""


def select(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`x.unbind(d)`, `x.select(d, i)`: the axis goes."""
    axes, dim = list(call.shape(0)), call.argument(1, "dim", 0)
    axes.pop(dim)
    return tuple(axes)


def resized(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`chunk`, `split`, `narrow`: all axes stay, one gets another size."""
    return tuple(
        axis if axis.size == size else _part(call, axis, size)
        for axis, size in zip(call.shape(0), wanted, strict=True)
    )


def _part(call: Call, axis: Axis, size: int) -> Axis:
    """What the scope calls it, else a half, a third, …, if it is one."""
    origin = f"a part of {axis.label} ({axis.size}) by {call.here}"
    name, sure = call.sizes.name(call.path, size)
    share = axis.size // size if size > 1 and axis.size % size == 0 and axis.known.name else 0
    return Axis(size, name or (f"{axis.label}/{share}" if share else ""), origin, sure or not name)


def cat(call: Call, wanted: Sequence[int]) -> Shape | None:
    """End to end along one axis."""
    empty = [tensor.numel() == 0 for tensor in call.tensors()]  # a cache that begins with nothing
    shapes = [call.shape_of(t) or () for t, e in zip(call.tensors(), empty, strict=True) if not e]
    if len(shapes) == 1:
        return shapes[0]
    dim = call.argument(1, "dim", call.kwargs.get("axis", 0)) % len(wanted)
    for shape in shapes[1:]:
        for i, (a, b) in enumerate(zip(shapes[0], shape, strict=False)):
            if i != dim and a.size == b.size:
                call.meet(a, b)
    whole = _end_to_end(call, [shape[dim] for shape in shapes], wanted[dim])
    return (*shapes[0][:dim], whole, *shapes[0][dim + 1 :])


def _end_to_end(call: Call, parts: list[Axis], size: int) -> Axis:
    """Two halves make a whole; else what the scope calls it, else the sum of the names."""
    name, _ = call.sizes.name(call.path, size)
    labels = list(dict.fromkeys(part.label for part in parts))
    base, _, share = labels[0].partition("/")
    if len(labels) == 1 and share == str(len(parts)):
        name = base
    elif not name and len(labels) > 1:
        name = "+".join(labels)
    elif not name and parts[0].known.name and len({part.size for part in parts}) == 1:
        whole = f"{len(parts)}·{labels[0]}"
        return Axis(size, whole, f"{len(parts)} parts joined by {call.here}")
    return Axis(size, name, f"{len(parts)} parts joined by {call.here}", bool(name))


def stack(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Side by side along a new axis."""
    dim = call.argument(1, "dim", 0) % len(wanted)
    first = call.shape_of(call.tensors()[0]) or ()
    new = call.new_axis(wanted[dim], None, f"stacked by {call.here}")
    return (*first[:dim], new, *first[dim:])


RULES = {
    "getitem": getitem, "select": select, "unbind": select, "chunk": resized, "split": resized,
    "narrow": resized, "topk": resized, "pad": resized, "tensor_split": resized, "cat": cat,
    "concat": cat, "concatenate": cat, "stack": stack,
}  # fmt: skip
