"""What is found of a clash: two axes, and the law that they break."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from clearhead.explain.tracer.axis import Axis, Shape, joined, numel


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


def unequal(kind: str, a: Shape, b: Shape, law: str, shift: int = 0) -> Finding | None:
    """The first place from the right at which sizes are neither equal nor 1."""
    for place, (x, y) in enumerate(zip_longest(reversed(a), reversed(b)), start=1):
        if x and y and x.size != y.size and 1 not in (x.size, y.size):
            return Finding(kind, x, y, law, shift - place, shift - place)
    return None


def one_axis(shape: Sequence[Axis], story: str) -> Axis:
    """Several axes laid end to end, which can be taken apart again."""
    if len(shape) == 1:
        return shape[0]
    return Axis(numel(shape), joined(shape), story, sure=True, parts=tuple(shape))


def without_what_fits(
    old: Sequence[Axis], new: Sequence[Axis]
) -> tuple[Sequence[Axis], Sequence[Axis]]:
    """Both without the shortest equal ends, as long as something remains on both sides."""
    for _ in range(len(old) + len(new)):
        if (cut := _equal_ends(old, new)) is None:
            break
        old, new = old[: len(old) - cut[0]], new[: len(new) - cut[1]]
    while len(old) > 1 and len(new) > 1 and old[0].size == new[0].size:
        old, new = old[1:], new[1:]
    return old, new


def _equal_ends(old: Sequence[Axis], new: Sequence[Axis]) -> tuple[int, int] | None:
    for i in range(1, len(old)):
        for j in range(1, len(new)):
            if numel(old[-i:]) == numel(new[-j:]):
                return i, j
    return None


def parts_of(axis: Axis) -> tuple[Axis, ...]:
    """What was laid end to end; an axis that never was is its own only part."""
    return axis.known.parts or (axis,)
