"""How each operation carries the names of axes from what goes in to what comes out."""

from collections.abc import Callable, Sequence

from clearhead.explain.tracer.axis import Shape, sizes
from clearhead.explain.tracer.call import Call, same_places
from clearhead.explain.tracer.rules import (
    create,
    permute,
    pick,
    pointwise,
    product,
    recurrent,
    reduce,
    reshape,
)

# A rule gets the call and the sizes of the result, and returns its axes, or None if it gives up.
Rule = Callable[[Call, Sequence[int]], Shape | None]

RULES: dict[str, Rule] = {
    **product.RULES,
    **permute.RULES,
    **reshape.RULES,
    **reduce.RULES,
    **pick.RULES,
    **create.RULES,
    **recurrent.RULES,
}
NOT_UNDERSTOOD = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def axes_of(call: Call, wanted: Sequence[int]) -> Shape:
    """The axes of a result of these sizes: by the operation's own rule, or by broadcasting."""
    for rule in (RULES.get(call.name), pointwise.broadcast):
        try:
            found = rule(call, wanted) if rule else None
        except NOT_UNDERSTOOD:  # an unusual call has unnamed axes, but the model runs on
            found = None
        if found is not None and sizes(found) == tuple(wanted):
            return found
    shapes = [call.shape_of(tensor) or () for tensor in call.tensors()]
    return same_places(shapes[0] if shapes else (), wanted)
