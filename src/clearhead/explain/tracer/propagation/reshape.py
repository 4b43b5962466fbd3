"""Reshaping: axes are split, merged or expanded, and the elements keep their order.

`(batch, d_model)` reshaped to `(batch·h, d_k)` splits d_model into h and d_k and merges h with
the batch. `(seq_len, d_model)` reshaped to `(h, seq_len, d_k)` has the right sizes too, but mixes
tokens with heads: a transpose is missing, and the call is recorded as doubtful.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import mul

from clearhead.explain.tracer.axes import (
    LENGTHS,
    Axis,
    Shape,
    broadcast_axis,
    merged_name,
    names,
    numel,
    sizes,
)
from clearhead.explain.tracer.call import Call, Hint

Group = tuple[Shape, list[int], list[Hint]]


def view(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Runs of old and new axes with equal numbers of elements belong together."""
    hints = call.size_hints(_first_size(call), len(wanted))
    return _regroup(call, call.shape(0), wanted, hints)


def _first_size(call: Call) -> int:
    """`torch.reshape(x, shape)` has its sizes at index 1, `x.view(…)` at index 0."""
    node = call.location.node if call.location else None
    written = len(getattr(node, "args", []))
    packed = len(call.args) == 2 and isinstance(call.args[1], list | tuple)
    return 1 if packed and written == 2 else 0


def _regroup(call: Call, axes: Shape, wanted: Sequence[int], hints: list[Hint]) -> Shape:
    result: list[Axis] = []
    for old, new, words in groups(axes, wanted, hints):
        if len(old) == len(new) == 1:
            result.append(_kept(call, old[0], words[0]))
        elif len(new) == 1:
            result.append(_merged(call, old, new[0], words[0]))
        elif len(old) == 1:
            result.extend(_split(call, old[0], new, words))
        else:
            result.extend(_split_and_merged(call, old, new, words))
    return tuple(result)


def groups(axes: Shape, wanted: Sequence[int], hints: list[Hint]) -> list[Group]:
    """The shortest runs of old and new axes that hold equally many elements."""
    found: list[Group] = []
    i = j = 0
    while i < len(axes) or j < len(wanted):
        old, new = i, j
        i, j = min(i + 1, len(axes)), min(j + 1, len(wanted))
        while (have := numel(axes[old:i])) != (want := math.prod(wanted[new:j])):
            if have < want and i < len(axes):
                i += 1
            elif have > want and j < len(wanted):
                j += 1
            else:
                i, j = len(axes), len(wanted)
                break
        # A named axis of size 1, such as d_k where h = d_model, belongs to the axis before it.
        if tuple(wanted[j:]) == (1,) and i == len(axes) and hints[j]:
            j += 1
        if sizes(axes[i:]) == (1,) and j == len(wanted) and axes[i].label == "d_k":
            i += 1
        found.append((tuple(axes[old:i]), list(wanted[new:j]), hints[new:j]))
    return found


def _kept(call: Call, axis: Axis, hint: Hint) -> Axis:
    """The axis itself, unless the code gives it a name that it cannot have."""
    if isinstance(hint, Axis):
        call.unify(axis, hint)
    elif hint and not axis.resolved.name:
        return call.new_axis(axis.size, hint, axis.source)
    elif hint and not _compatible(axis.label, hint):
        call.doubts.append(
            f"{call.name} uses {axis.label} as {hint}: both happen to be {axis.size}"
        )
    return axis


def _compatible(name: str, hint: str) -> bool:
    return name == hint or (name in LENGTHS and hint in LENGTHS) or "·" in hint + name


def _split(call: Call, axis: Axis, new: list[int], words: list[Hint]) -> list[Axis]:
    if sizes(axis.resolved.parts) == tuple(new):
        return list(axis.resolved.parts)
    origin = f"{axis.label} ({axis.size}) split by {call.at}"
    made = _parts(call, new, words, origin)
    if [part.label for part in made].count("h") == 1 and len(made) == 2:
        for part in made:
            if not part.resolved.name:  # the width of one head
                part.name, part.certain = "d_k", False
    if {"h", "d_model"} <= {part.label for part in made}:
        for part in made:  # a head never has the whole width: an equal number is a coincidence
            part.name = "" if part.label == "h" else part.name
    # With one head, or one dimension in each, a part has the size of the whole and is another axis.
    return [axis if part.size == axis.size and "h" not in words else part for part in made]


def _parts(call: Call, new: list[int], words: list[Hint], origin: str) -> list[Axis]:
    """The new axes; a name that the code gives to one part is not given to another."""
    made = [call.new_axis(size, hint, origin) for size, hint in zip(new, words, strict=True)]
    for part, hint in zip(made, words, strict=True):
        if not hint and part.label in words:  # of equal size by coincidence
            part.name = ""
    return made


def _merged(call: Call, old: Shape, size: int, word: Hint) -> Axis:
    """Several axes merged: named by the code, by the scope, or by their own names."""
    real = [axis for axis in old if not axis.broadcasts] or list(old)
    if len(real) == 1:
        return real[0]
    name = call.sizes.name(call.path, size)[0]
    features = not {axis.label for axis in real} & (LENGTHS | {"batch"})
    if isinstance(word, str) and "·" not in word:
        name = word
    elif not features:
        name = ""
    origin = f"{merged_name(real)} merged by {call.at}"
    return Axis(size, name or merged_name(real), origin, certain=True, parts=tuple(real))


def _split_and_merged(
    call: Call, old: Shape, new: Sequence[int], words: Sequence[Hint]
) -> list[Axis]:
    """Axes split and merged at once, with a doubt where an old axis is not kept whole."""
    pieces = _pieces(sizes(old), new)
    # Every old axis with the number of elements to its right.
    starts = list(zip(reversed(old), _boundaries(sizes(old)), strict=False))[::-1]
    if pieces is None or _misnamed(starts, new, words):
        return _mixed(call, old, new, words)
    factors = [part for axis, start in starts for part in _factors(call, axis, start, pieces)]
    made: list[Axis] = []
    for size, word in zip(new, words, strict=True):
        taken = [factors.pop(0)]
        while numel(taken) < size:
            taken.append(factors.pop(0))
        made.append(_from_factors(call, taken, size, word))
    return made


def _boundaries(shape: Sequence[int]) -> list[int]:
    """For every axis, last to first, the number of elements to its right; then the total."""
    return list(accumulate(reversed(shape), mul, initial=1))


def _pieces(old: Sequence[int], new: Sequence[int]) -> set[int] | None:
    """The boundaries of both shapes; None if they cross."""
    found = sorted({*_boundaries(old), *_boundaries(new)})
    crossing = any(b % a for a, b in pairwise(found))
    return None if crossing else set(found)


def _misnamed(
    starts: Sequence[tuple[Axis, int]], new: Sequence[int], words: Sequence[Hint]
) -> bool:
    """True if the code gives a new axis the name of an old one that is not whole there."""
    whole = {axis.label: (start, axis.size) for axis, start in starts}
    spans = zip(reversed(words), _boundaries(new), reversed(new), strict=False)
    for word, start, size in spans:
        label = word.label if isinstance(word, Axis) else word or ""
        if label in whole and whole[label] != (start, size):
            return True
    return False


def _factors(call: Call, axis: Axis, start: int, pieces: set[int]) -> list[Axis]:
    """The parts into which the boundaries divide one old axis, first to last."""
    inside = sorted(cut for cut in pieces if start <= cut <= start * axis.size)
    lengths = [b // a for a, b in pairwise(inside)][::-1]
    if len(lengths) <= 1:
        return [axis]
    if [part.size for part in axis.resolved.parts] == lengths:
        return list(axis.resolved.parts)
    origin = f"{axis.label} ({axis.size}) split by {call.at}"
    return [call.new_axis(size, None, origin) for size in lengths]


def _from_factors(call: Call, taken: list[Axis], size: int, word: Hint) -> Axis:
    if len(taken) == 1:
        return call.new_axis(size, word, taken[0].source) if word else taken[0]
    return _merged(call, tuple(taken), size, word)


def _mixed(call: Call, old: Shape, new: Sequence[int], words: Sequence[Hint]) -> list[Axis]:
    made = [
        call.new_axis(size, word, f"{merged_name(old)} reshaped by {call.at}")
        for size, word in zip(new, words, strict=True)
    ]
    if sum(not axis.broadcasts for axis in old) > 1 and sum(size > 1 for size in new) > 1:
        call.doubts.append(
            f"{call.name} reads the elements of {names(old)} in order as {names(made)}, "
            "which mixes the axes; was a transpose intended?"
        )
    return made


def flatten(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Adjacent axes are merged."""
    return _regroup(call, call.shape(0), wanted, [None] * len(wanted))


def unflatten(call: Call, wanted: Sequence[int]) -> Shape | None:
    """One axis is split."""
    axes, dim = call.shape(0), call.argument(1, "dim")
    if not isinstance(dim, int):
        return None
    dim %= len(axes)
    count = len(wanted) - len(axes) + 1
    new = list(wanted[dim : dim + count])
    parts = _split(call, axes[dim], new, call.size_hints(1, count))
    return (*axes[:dim], *parts, *axes[dim + 1 :])


def expand(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Axes of size 1 are expanded; new axes come first."""
    axes = call.shape(0)
    hints = call.size_hints(_first_size(call), len(wanted))
    padded = (*[broadcast_axis()] * (len(wanted) - len(axes)), *axes)
    return tuple(
        axis if axis.size == size else call.new_axis(size, hint, f"expanded by {call.at}")
        for axis, size, hint in zip(padded, wanted, hints, strict=True)
    )


RULES = {
    "view": view, "reshape": view, "flatten": flatten, "unflatten": unflatten,
    "expand": expand, "broadcast_to": expand, "repeat": expand, "tile": expand,
}  # fmt: skip
