"""A view that splits some axes and merges others at once, or that cuts across them.

`(batch, d_model)` read as `(batch·h, d_k)` is a clean cut: d_model falls into h and d_k,
and h joins the batch. `(seq_len, d_model)` read as `(h, seq_len, d_k)` has the right sizes
too, and shuffles tokens and heads: there the transpose is missing.
"""

from collections.abc import Sequence
from itertools import pairwise

from clearhead.explain.tracer.axis import LENGTHS, Axis, Shape, joined, names
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.hints import Hint


def recut(call: Call, old: Shape, new: Sequence[int], words: Sequence[Hint]) -> list[Axis]:
    """The new axes, and a doubt where they do not keep the old ones whole."""
    pieces = _pieces([axis.size for axis in old], new)
    if pieces is None or _claims_what_is_cut(old, new, words, pieces):
        return _shuffled(call, old, new, words)
    factors = [factor for axis in old for factor in _factors(call, axis, pieces, old)]
    made: list[Axis] = []
    for size, word in zip(new, words, strict=True):
        taken: list[Axis] = []
        while _size(taken) < size:
            taken.append(factors.pop(0))
        made.append(_one(call, taken, size, word))
    return made


def _pieces(old: Sequence[int], new: Sequence[int]) -> set[int] | None:
    """Where either side cuts, counted in numbers from the right; None if the cuts cross."""
    cuts = sorted(_cuts(old) | _cuts(new))
    crossing = any(b % a for a, b in pairwise(cuts))
    return None if crossing else set(cuts)


def _cuts(shape: Sequence[int]) -> set[int]:
    product, cuts = 1, {1}
    for size in reversed(shape):
        product *= size
        cuts.add(product)
    return cuts


def _claims_what_is_cut(
    old: Shape, new: Sequence[int], words: Sequence[Hint], pieces: set[int]
) -> bool:
    """True if the code calls a new axis by an old one's name that does not stand there whole."""
    whole = {axis.label: (end, end * axis.size) for axis, end in zip(old, _ends(old), strict=True)}
    position = 1
    for size, word in zip(reversed(new), reversed(words), strict=True):
        label = word.label if isinstance(word, Axis) else word or ""
        if label in whole and whole[label] != (position, position * size):
            return True
        position *= size
    return False


def _ends(shape: Shape) -> list[int]:
    """For every axis, how many numbers stand to its right."""
    ends, product = [], 1
    for axis in reversed(shape):
        ends.append(product)
        product *= axis.size
    return ends[::-1]


def _factors(call: Call, axis: Axis, pieces: set[int], old: Shape) -> list[Axis]:
    """The parts into which the cuts divide one old axis, first to last."""
    end = dict(zip(map(id, old), _ends(old), strict=True))[id(axis)]
    inside = sorted(cut for cut in pieces if end <= cut <= end * axis.size)
    sizes = [b // a for a, b in pairwise(inside)][::-1]
    if len(sizes) <= 1:
        return [axis]
    if [part.size for part in axis.known.parts] == sizes:
        return list(axis.known.parts)
    origin = f"{axis.label} ({axis.size}) split by {call.here}"
    return [call.new_axis(size, None, origin) for size in sizes]


def _one(call: Call, taken: list[Axis], size: int, word: Hint) -> Axis:
    """One new axis out of its factors."""
    if len(taken) == 1:
        return call.new_axis(size, word, taken[0].story) if word else taken[0]
    return merged(call, tuple(taken), size, word)


def merged(call: Call, old: Shape, size: int, word: Hint) -> Axis:
    """Several axes laid end to end: by the word of the code, of the scope, or by theirs."""
    real = [axis for axis in old if not axis.stretches] or list(old)
    if len(real) == 1:
        return real[0]
    name = call.sizes.name(call.path, size)[0]
    features = not {axis.label for axis in real} & (LENGTHS | {"batch"})
    if isinstance(word, str) and "·" not in word:
        name = word
    elif not features:
        name = ""
    origin = f"{joined(real)} merged by {call.here}"
    return Axis(size, name or joined(real), origin, sure=True, parts=tuple(real))


def _size(axes: list[Axis]) -> int:
    size = 1
    for axis in axes:
        size *= axis.size
    return size if axes else 0


def _shuffled(call: Call, old: Shape, new: Sequence[int], words: Sequence[Hint]) -> list[Axis]:
    made = [
        call.new_axis(size, word, f"{joined(old)} read anew by {call.here}")
        for size, word in zip(new, words, strict=True)
    ]
    if sum(not axis.stretches for axis in old) > 1 and sum(size > 1 for size in new) > 1:
        call.doubts.append(
            f"{call.name} reads {names(old)} row by row as {names(made)}, "
            "which shuffles them into each other; was a transpose meant?"
        )
    return made
