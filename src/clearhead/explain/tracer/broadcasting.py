"""Broadcasting, dimension by dimension: which 1 is stretched, which axis is put in front."""

from collections.abc import Sequence
from itertools import zip_longest

from clearhead.explain.tracer.axis import Axis
from clearhead.explain.tracer.rows import Operand


def stretched(inputs: Sequence[Operand]) -> list[str]:
    """One entry a dimension of two operands that do not have the same sizes; else none."""
    if len(inputs) < 2:
        return []
    a, b = inputs[0].shape, inputs[1].shape
    if [x.size for x in a] == [x.size for x in b] or not a or not b:
        return []
    pairs = list(zip_longest(reversed(a), reversed(b)))
    if any(x and y and x.size != y.size and 1 not in (x.size, y.size) for x, y in pairs):
        return []
    return [_dimension(x, y) for x, y in reversed(pairs)]


def _dimension(a: Axis | None, b: Axis | None) -> str:
    if a is None or b is None:
        there = a or b
        return f"{_name(there)}: none → {there.size}" if there else ""
    if a.size == b.size:
        return f"{_name(a if not a.stretches else b)}: {a.size} = {b.size}"
    wide = a if b.size == 1 else b
    return f"{_name(wide)}: 1 → {wide.size}"


def _name(axis: Axis) -> str:
    return axis.known.name or "·"
