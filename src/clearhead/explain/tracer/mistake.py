"""A shape error in words: which axis met which, where each came from, and the likely slip."""

import traceback
from dataclasses import dataclass

from clearhead.explain.tracer.axis import Axis, names, numbers
from clearhead.explain.tracer.clashes.checks import checked
from clearhead.explain.tracer.clashes.find import find
from clearhead.explain.tracer.clashes.slips import likely_slip
from clearhead.explain.tracer.rows import Operand
from clearhead.explain.tracer.rules import NOT_UNDERSTOOD
from clearhead.explain.tracer.source import Place, place_of_error
from clearhead.explain.tracer.watch import Watch


@dataclass(frozen=True)
class Mistake:
    """Why the forward pass broke off.

    `axes` are the two that met, `names` what they are called; `slip` says what was
    probably forgotten; `message` is torch's own.
    """

    operation: str
    path: str
    place: Place | None
    inputs: list[Operand]
    axes: tuple[Axis, Axis]
    law: str
    slip: str
    message: str
    places: tuple[int, int] = (0, 0)

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two axes."""
        return self.axes[0].label, self.axes[1].label

    @property
    def headline(self) -> str:
        """`matmul: d_k (64) meets seq_len (10)`."""
        a, b = self.axes
        return f"{self.operation}: {a.label} ({a.size:,}) meets {b.label} ({b.size:,})"

    @property
    def stories(self) -> list[str]:
        """Where each of the two comes from."""
        return [f"{axis.label} ({axis.size:,}): {axis.story}" for axis in self.axes]

    def lines(self) -> list[str]:
        """The whole explanation, a line an item."""
        where = f"{self.path}, " if self.path else ""
        where += f"{self.place.short}: {self.place.code}" if self.place else ""
        return [
            self.headline,
            f"where:  {where}",
            *(
                f"input:  {operand.label or '·'}: {names(operand.shape)} = {numbers(operand.shape)}"
                for operand in self.inputs
            ),
            f"law:    {self.law}",
            *(f"origin: {story}" for story in self.stories),
            f"slip:   {self.slip}",
            f"torch:  {self.message}",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def explain(watch: Watch, error: Exception) -> Mistake | None:
    """The mistake behind an error, or None if no two axes are to blame for it."""
    failure = watch.failure
    if failure is None or failure.error is not error:
        return _unpacked(watch, error) or _refused(watch, error)
    call, inputs = failure.call, failure.inputs
    try:
        found = find(call, inputs, error)
    except NOT_UNDERSTOOD:  # an unusual call: torch's own words must do
        return None
    if found is None:
        return None
    return Mistake(
        call.name,
        call.path,
        call.place,
        inputs,
        (found.a, found.b),
        found.law,
        likely_slip(found, inputs),
        str(error).splitlines()[0],
        (found.place_a, found.place_b),
    )


def _refused(watch: Watch, error: Exception) -> Mistake | None:
    """A module of torch's own looked at its inputs and would not begin."""
    try:
        look = checked(error, watch.ledger.shape_of)
    except NOT_UNDERSTOOD:
        return None
    if look is None:
        return None
    inputs, found = look
    return Mistake(
        type(watch.running[-1]).__name__,
        watch.stack[-1].path,
        place_of_error(error),
        inputs,
        (found.a, found.b),
        found.law,
        likely_slip(found, inputs),
        str(error).splitlines()[0],
    )


def _unpacked(watch: Watch, error: Exception) -> Mistake | None:
    """`batch, length, width = x.shape` of a tensor that has four axes."""
    shape = watch.looked_at
    if "unpack" not in str(error) or shape is None:
        return None
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = Place(frame.filename, frame.lineno or 0, frame.name, frame.line or "", None)
    wanted = frame.line.partition("=")[0].count(",") + 1 if frame.line else 0
    law = f"the code names {wanted} axes, the tensor has {len(shape)}"
    missing = Axis(wanted, "names", "the names left of the =")
    have = Axis(len(shape), "axes", f"the axes {names(shape)}")
    slip = "the tensor was split into heads already, or not yet: print its shape one line earlier"
    path = watch.stack[-1].path
    inputs = [Operand("", shape)]
    return Mistake("unpack", path, place, inputs, (have, missing), law, slip, str(error))
