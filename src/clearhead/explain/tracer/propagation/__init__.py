"""Propagation of axis names: from the inputs of an operation to its result, one rule each."""

from collections.abc import Callable, Sequence
from itertools import zip_longest

from clearhead.explain.tracer.axes import Shape, sizes, unnamed_axes
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.propagation import dimensions, indexing, reshape

# A rule takes the call and the sizes of the result; it returns the axes, or None if unknown.
Rule = Callable[[Call, Sequence[int]], Shape | None]

RULES: dict[str, Rule] = {**dimensions.RULES, **reshape.RULES, **indexing.RULES}
NOT_UNDERSTOOD = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def axes_of(call: Call, wanted: Sequence[int]) -> Shape:
    """The axes of a result of these sizes: by the operation's rule, else by broadcasting."""
    for rule in (RULES.get(call.name), dimensions.broadcast):
        try:
            found = rule(call, wanted) if rule else None
        except NOT_UNDERSTOOD:  # an unusual call gets unnamed axes; the model runs on
            found = None
        if found is not None and sizes(found) == tuple(wanted):
            return found
    shapes = [call.shape_of(tensor) for tensor in call.tensors()]
    # Without a rule: the axes of the first tensor where the size is unchanged.
    pairs = zip_longest(shapes[0][: len(wanted)] if shapes else (), unnamed_axes(wanted))
    return tuple(old if old and old.size == new.size else new for old, new in pairs)
