"""Indexing, slicing and splitting; concatenating and stacking; new tensors such as zeros."""

import ast
import re
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from clearhead.explain.tracer.axes import LENGTHS, SYNONYMS, Axis, Shape, broadcast_axis
from clearhead.explain.tracer.call import Call

_CUT = re.compile(r"a (?:slice|part) of (\S+)")


def getitem(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`x[:, :length, None]`: a slice keeps an axis, an integer drops it, None adds one."""
    axes = list(call.shape(0))
    index = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    if any(isinstance(item, list | bool) for item in index):
        return None
    written = _index_expressions(call, len(index))
    missing = len(axes) - sum(item is not None and item is not Ellipsis for item in index)
    result: list[Axis] = []
    for item, node in zip(index, written, strict=True):
        if item is Ellipsis:
            result.extend(axes.pop(0) for _ in range(missing))
        elif item is None:
            result.append(broadcast_axis(f"inserted by {call.at}"))
        else:
            result.extend(_indexed(call, axes.pop(0), item, node))
    return (*result, *axes)


def _index_expressions(call: Call, count: int) -> list[ast.expr | None]:
    node = call.location.node if call.location else None
    index = node.slice if isinstance(node, ast.Subscript) else None
    items: list[ast.expr | None] = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    return items if len(items) == count else [None] * count


def _indexed(call: Call, axis: Axis, item: Any, node: ast.expr | None) -> list[Axis]:
    if isinstance(item, Tensor):
        return list(call.shape_of(item))
    if not isinstance(item, slice):
        return []
    return [axis if item == slice(None) else _sliced(call, axis, item, node)]


def _sliced(call: Call, axis: Axis, item: slice, node: ast.expr | None) -> Axis:
    """A slice is a new axis: `:length` is named by its bound, or by unification later."""
    start, stop, step = item.indices(axis.size)
    size = len(range(start, stop, step))
    at = call.location.short if call.location else "?"
    origin = f"a slice of {axis.label} ({axis.size}) at {at}"
    bound = node.upper if isinstance(node, ast.Slice) else None
    if bound is not None and not start and step == 1 and call.hints:
        hint = call.hints.read([bound])[0]
        if hint is not None:
            return call.new_axis(size, hint, origin)
    if step > 1 and axis.resolved.name:
        return Axis(size, f"{axis.label}/{step}", origin, certain=True)
    return Axis(size, _shortened(axis, size, node), origin)


def _shortened(axis: Axis, size: int, node: ast.expr | None) -> str:
    """`x[:, :-1]` gives seq_len−1; a computed bound may be anything."""
    bounds = [node.lower, node.upper] if isinstance(node, ast.Slice) else []
    literal = [b for b in bounds if isinstance(b, ast.Constant | ast.UnaryOp)]
    cut = axis.size - size
    if axis.label in LENGTHS and len(literal) == sum(b is not None for b in bounds) and 0 < cut < 3:
        return f"{axis.label}−{cut}"
    return ""


def select(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`x.unbind(d)`, `x.select(d, i)`: the axis is dropped."""
    axes, dim = list(call.shape(0)), call.argument(1, "dim", 0)
    axes.pop(dim)
    return tuple(axes)


def resize(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`chunk`, `split`, `narrow`: all axes stay, one changes its size."""
    return tuple(
        axis if axis.size == size else _part(call, axis, size)
        for axis, size in zip(call.shape(0), wanted, strict=True)
    )


def _part(call: Call, axis: Axis, size: int) -> Axis:
    """Named by the scope, else as a fraction: d_model/2."""
    origin = f"a part of {axis.label} ({axis.size}) by {call.at}"
    name, certain = call.sizes.name(call.path, size)
    chosen = call.name == "topk"  # some elements, and no part of an axis
    if _is_length(axis) or (chosen and name in SYNONYMS):
        name, certain = "", False  # an equal number is a coincidence
    divides = size > 1 and axis.size % size == 0 and bool(axis.resolved.name) and not chosen
    fraction = f"{axis.label}/{axis.size // size}" if divides else ""
    return Axis(size, name or fraction, origin, certain or not name)


def _is_length(axis: Axis) -> bool:
    """Whether it is a length or a batch, or was cut from one: never a number of heads."""
    cut = _CUT.match(axis.source)
    words = re.findall(r"\w+", f"{axis.label} {cut[1] if cut else ''}")
    return bool({*words} & {*LENGTHS, "batch"})


def cat(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Concatenation along one axis."""
    # A key-value cache may start with an empty tensor.
    shapes = [call.shape_of(t) for t in call.tensors() if t.numel()]
    if len(shapes) == 1:
        return shapes[0]
    dim = call.dim(0) % len(wanted)
    for shape in shapes[1:]:
        for i, (a, b) in enumerate(zip(shapes[0], shape, strict=False)):
            if i != dim and a.size == b.size:
                call.unify(a, b)
    whole = _concatenated(call, [shape[dim] for shape in shapes], wanted[dim])
    return (*shapes[0][:dim], whole, *shapes[0][dim + 1 :])


def _concatenated(call: Call, parts: list[Axis], size: int) -> Axis:
    """Two halves make a whole; else the scope's name, else the sum of the names."""
    name, _ = call.sizes.name(call.path, size)
    name = "" if any(map(_is_length, parts)) else name
    labels = list(dict.fromkeys(part.label for part in parts))
    base, _, share = labels[0].partition("/")
    origin = f"{len(parts)} tensors concatenated by {call.at}"
    if len(labels) == 1 and share == str(len(parts)):
        name = base
    elif not name and len(labels) > 1:
        name = "+".join(labels)
    elif not name and parts[0].resolved.name and len({part.size for part in parts}) == 1:
        return Axis(size, f"{len(parts)}·{labels[0]}", origin)
    return Axis(size, name, origin, bool(name))


def stack(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Stacking along a new axis."""
    dim = call.argument(1, "dim", 0) % len(wanted)
    first = call.shape_of(call.tensors()[0])
    new = call.new_axis(wanted[dim], None, f"stacked by {call.at}")
    return (*first[:dim], new, *first[dim:])


def filled(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`torch.zeros(seq_len, d_model)`: one axis for each written size."""
    return _created(call, wanted, call.size_hints(0, len(wanted)))


def square(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`eye(n)`: the same axis twice."""
    hints = call.size_hints(0, 1) * 2 if len(call.args) == 1 else call.size_hints(0, 2)
    return _created(call, wanted, hints)


def _created(call: Call, wanted: Sequence[int], hints: Sequence[Any]) -> Shape:
    pairs = zip(wanted, hints, strict=True)
    return tuple(call.new_axis(size, hint, f"created by {call.at}") for size, hint in pairs)


def arange(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`arange(0, d_model, 2)` has the length of its bound divided by its step."""
    numbers = [value for value in call.args if isinstance(value, int | float)]
    hints = call.size_hints(0, len(call.args))
    bound = hints[1] if len(numbers) > 1 else hints[0] if hints else None
    step = numbers[2] if len(numbers) > 2 else 1
    if step == 1:
        return _created(call, wanted, [bound])
    word = bound.label if isinstance(bound, Axis) else bound
    name = f"{word}/{step}" if word else ""
    return (Axis(wanted[0], name, f"created by {call.at}", certain=bool(name)),)


RULES = {
    "getitem": getitem, "select": select, "unbind": select, "chunk": resize, "split": resize,
    "narrow": resize, "topk": resize, "pad": resize, "tensor_split": resize, "cat": cat,
    "concat": cat, "concatenate": cat, "stack": stack, "arange": arange, "eye": square,
    **dict.fromkeys(("zeros", "ones", "empty", "rand", "randn"), filled),
}  # fmt: skip
