"""Clashes of what reorders, joins or compares: views, cat, norms, losses."""

from itertools import pairwise

from clearhead.explain.tracer.axis import Axis, Shape, numel
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.clashes.finding import (
    Finding,
    one_axis,
    parts_of,
    without_what_fits,
)
from clearhead.explain.tracer.rules.reshape import groups


def view(call: Call, shapes: list[Shape]) -> Finding | None:
    """Either the numbers do not suffice, or they lie in another order than they are read."""
    wanted = _filled(call, numel(shapes[0]))
    hints = call.size_hints(0, len(wanted))
    asked = f"asked for by {call.here}"
    for old, new, words in groups(shapes[0], wanted, hints):
        made = [call.new_axis(n, word, asked) for n, word in zip(new, words, strict=True)]
        if numel(old) != numel(made):
            law = "the new axes must hold exactly as many numbers as the old ones"
            had, want = without_what_fits(old, made)
            return Finding("view", one_axis(had, "laid end to end"), one_axis(want, asked), law)
        if found := _not_in_order(call, old):
            return found
    return None


def _filled(call: Call, count: int) -> list[int]:
    """The sizes that the call asks for, -1 worked out if it can be."""
    values = call.args[1] if isinstance(call.args[1], list | tuple) else call.args[1:]
    wanted = [value for value in values if isinstance(value, int)]
    rest = count
    for value in wanted:
        if value != -1:
            rest = rest // value if value and rest % value == 0 else -1
    return [rest if value == -1 and rest > 0 else value for value in wanted]


def _not_in_order(call: Call, old: Shape) -> Finding | None:
    """Neighbours that are to be merged, but lie apart in memory."""
    tensor, shape = call.args[0], call.shape(0)
    start = next((i for i, axis in enumerate(shape) if old and axis is old[0]), 0)
    for i in range(start, start + len(old) - 1):
        if tensor.stride(i) != tensor.stride(i + 1) * tensor.shape[i + 1]:
            law = "view merges only what lies side by side in memory; a transpose moves it apart"
            return Finding("order", shape[i], shape[i + 1], law, i - len(shape), i + 1 - len(shape))
    return None


def cat(call: Call, shapes: list[Shape]) -> Finding | None:
    """All axes but one must be equal."""
    dim = call.argument(1, "dim", call.kwargs.get("axis", 0))
    law = f"put end to end along axis {dim}, all the other axes must be equal"
    for a, b in pairwise(shapes):
        pairs = list(zip(a, b, strict=False))
        for i, (x, y) in enumerate(pairs):
            if x.size != y.size and i != dim % len(pairs):
                return Finding("cat", x, y, law, i - len(a), i - len(b))
    return None


def layer_norm(call: Call, shapes: list[Shape]) -> Finding | None:
    """The last axes, and normalized_shape."""
    wanted = call.argument(1, "normalized_shape") or ()
    for axis, size in zip(reversed(shapes[0]), reversed(list(wanted)), strict=False):
        if axis.size != size:
            law = "a layer norm takes vectors of its normalized_shape, along the last axis"
            return Finding("norm", axis, _normalized(call, size), law, -1, -1)
    return None


def _normalized(call: Call, size: int) -> Axis:
    """By the scope's name for this size: of features, or, alas, of lengths."""
    found = (call.sizes.name(call.path, size, lengths)[0] for lengths in (False, True))
    name = next(filter(None, found), "normalized_shape")
    return Axis(size, name, f"normalized_shape at {call.here}", sure=True)


def loss(call: Call, shapes: list[Shape]) -> Finding | None:
    """(N, classes) against (N), (batch, classes, length) against (batch, length)."""
    a, b = shapes[:2]
    if a[0].size != b[0].size:
        law = "a loss needs one label a prediction: (N, classes) against (N)"
        x, y = _what_differs(a[0], b[0])
        return Finding("labels", x, y, law, -len(a), -len(b))
    if len(a) > 2 and len(b) > 1 and a[2].size != b[1].size:
        law = "classes stand at axis 1: (batch, classes, length) against (batch, length)"
        return Finding("classes", a[2], b[1], law, 2 - len(a), 1 - len(b))
    return None


def _what_differs(a: Axis, b: Axis) -> tuple[Axis, Axis]:
    """Of two merged axes the one pair of parts that is not equal."""
    pairs = list(zip(parts_of(a), parts_of(b), strict=False))
    unlike = [(x, y) for x, y in pairs if x.size != y.size]
    return unlike[0] if len(unlike) == 1 else (a, b)


FINDERS = {
    "view": view, "reshape": view, "cat": cat, "concat": cat, "concatenate": cat,
    "layer_norm": layer_norm, "cross_entropy": loss, "nll_loss": loss,
}  # fmt: skip
