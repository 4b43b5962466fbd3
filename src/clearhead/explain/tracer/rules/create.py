"""Tensors out of nothing: `torch.zeros(seq_len, d_model)` names its own axes."""

from collections.abc import Sequence

from clearhead.explain.tracer.axis import Axis, Shape
from clearhead.explain.tracer.call import Call


def filled(call: Call, wanted: Sequence[int]) -> Shape | None:
    """One axis a written size."""
    hints = call.size_hints(0, len(wanted))
    return tuple(
        call.new_axis(size, hint, f"made by {call.here}")
        for size, hint in zip(wanted, hints, strict=True)
    )


def counted(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`arange(0, d_model, 2)` has the length of its bound, divided by its step."""
    numbers = [value for value in call.args if isinstance(value, int | float)]
    hints = call.size_hints(0, len(call.args))
    bound = hints[1] if len(numbers) > 1 else hints[0] if hints else None
    step = numbers[2] if len(numbers) > 2 else 1
    origin = f"made by {call.here}"
    if step == 1:
        return (call.new_axis(wanted[0], bound, origin),)
    word = bound.label if isinstance(bound, Axis) else bound
    name = f"{word}/{step}" if word else ""
    return (Axis(wanted[0], name, origin, sure=bool(name)),)


def square(call: Call, wanted: Sequence[int]) -> Shape | None:
    """`eye(n)`: the same axis twice."""
    hints = call.size_hints(0, 1) * 2 if len(call.args) == 1 else call.size_hints(0, 2)
    return tuple(
        call.new_axis(size, hint, f"made by {call.here}")
        for size, hint in zip(wanted, hints, strict=True)
    )


RULES = {
    **dict.fromkeys(("zeros", "ones", "empty", "rand", "randn"), filled),
    "arange": counted,
    "eye": square,
}
