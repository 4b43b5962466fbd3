"""The same numbers under other axes: split, merged, stretched."""

from collections.abc import Sequence

from clearhead.explain.tracer.axis import LENGTHS, Axis, Shape, one, sizes
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.hints import Hint
from clearhead.explain.tracer.rules.refine import merged, recut

Group = tuple[Shape, list[int], list[Hint]]


def view(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Runs of axes whose sizes have equal products belong together."""
    hints = call.size_hints(_written_after(call), len(wanted))
    return regroup(call, call.shape(0), wanted, hints)


def _written_after(call: Call) -> int:
    """`torch.reshape(x, shape)` has its sizes in the second place, `x.view(…)` in the first."""
    node = call.place.node if call.place else None
    written = len(getattr(node, "args", []))
    packed = len(call.args) == 2 and isinstance(call.args[1], list | tuple)
    return 1 if packed and written == 2 else 0


def regroup(call: Call, axes: Shape, wanted: Sequence[int], hints: list[Hint]) -> Shape:
    """Name the new axes run by run."""
    result: list[Axis] = []
    for old, new, words in groups(axes, wanted, hints):
        if len(old) == len(new) == 1:
            result.append(_kept(call, old[0], words[0]))
        elif len(new) == 1:
            result.append(merged(call, old, new[0], words[0]))
        elif len(old) == 1:
            result.extend(_split(call, old[0], new, words))
        else:
            result.extend(recut(call, old, new, words))
    return tuple(result)


def groups(axes: Shape, wanted: Sequence[int], hints: list[Hint]) -> list[Group]:
    """The shortest runs of old and new axes that hold equally many numbers."""
    found: list[Group] = []
    i = j = 0
    while i < len(axes) or j < len(wanted):
        old, new = i, j
        i, j = min(i + 1, len(axes)), min(j + 1, len(wanted))
        while (have := _product(axes[old:i])) != (want := _numbers(wanted[new:j])):
            if have < want and i < len(axes):
                i += 1
            elif have > want and j < len(wanted):
                j += 1
            else:
                i, j = len(axes), len(wanted)
                break
        found.append((tuple(axes[old:i]), list(wanted[new:j]), hints[new:j]))
    return found


def _product(axes: Shape) -> int:
    return _numbers([axis.size for axis in axes])


def _numbers(values: Sequence[int]) -> int:
    product = 1
    for value in values:
        product *= value
    return product


def _kept(call: Call, axis: Axis, hint: Hint) -> Axis:
    """The axis itself, unless the code calls it something that it cannot be."""
    if isinstance(hint, Axis):
        call.meet(axis, hint)
    elif hint and not axis.known.name:
        return call.new_axis(axis.size, hint, axis.story)
    elif hint and not _may_be(axis.label, hint):
        call.doubts.append(
            f"{call.name} takes {axis.label} for {hint}: both happen to be {axis.size}"
        )
    return axis


def _may_be(name: str, hint: str) -> bool:
    return name == hint or (name in LENGTHS and hint in LENGTHS) or "·" in hint + name


def _split(call: Call, axis: Axis, new: list[int], words: list[Hint]) -> list[Axis]:
    if sizes(axis.known.parts) == tuple(new):
        return list(axis.known.parts)
    origin = f"{axis.label} ({axis.size}) split by {call.here}"
    made = [call.new_axis(size, hint, origin) for size, hint in zip(new, words, strict=True)]
    if [part.label for part in made].count("h") == 1 and len(made) == 2:
        for part in made:
            if not part.known.name:  # what one head gets of the width
                part.name, part.sure = "d_k", False
    if {"h", "d_model"} <= {part.label for part in made}:
        for part in made:  # a head has no whole width: that they are as many is chance
            part.name = "" if part.label == "h" else part.name
    return [axis if part.size == axis.size else part for part in made]


def flatten(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Neighbours laid end to end."""
    return regroup(call, call.shape(0), wanted, [None] * len(wanted))


def unflatten(call: Call, wanted: Sequence[int]) -> Shape | None:
    """One axis split."""
    axes, dim = call.shape(0), call.argument(1, "dim")
    if not isinstance(dim, int):
        return None
    dim %= len(axes)
    count = len(wanted) - len(axes) + 1
    hints = call.size_hints(1, count)
    new = list(wanted[dim : dim + count])
    return (*axes[:dim], *_split(call, axes[dim], new, hints), *axes[dim + 1 :])


def unsqueeze(call: Call, wanted: Sequence[int]) -> Shape | None:
    """A 1 in between."""
    axes, dim = call.shape(0), call.argument(1, "dim")
    dim %= len(axes) + 1
    return (*axes[:dim], one(f"added by {call.here}"), *axes[dim:])


def squeeze(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Without its ones."""
    axes, dim = call.shape(0), call.argument(1, "dim")
    dims = range(len(axes)) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {d % len(axes) for d in dims if axes[d].size == 1}
    return tuple(axis for i, axis in enumerate(axes) if i not in gone)


def expand(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Ones get a size; what is new stands in front."""
    axes = call.shape(0)
    hints = call.size_hints(_written_after(call), len(wanted))
    padded = (*[one()] * (len(wanted) - len(axes)), *axes)
    return tuple(
        axis if axis.size == size else call.new_axis(size, hint, f"stretched by {call.here}")
        for axis, size, hint in zip(padded, wanted, hints, strict=True)
    )


RULES = {
    "view": view, "reshape": view, "flatten": flatten, "unflatten": unflatten,
    "unsqueeze": unsqueeze, "squeeze": squeeze, "expand": expand, "broadcast_to": expand,
    "repeat": expand, "tile": expand,
}  # fmt: skip
