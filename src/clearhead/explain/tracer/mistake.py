"""The explanation of a shape error: which axes differ, where they come from, the likely cause."""

import re
import traceback
from dataclasses import dataclass, replace

from torch import Tensor, nn

from clearhead.explain.tracer.axes import Axis, names
from clearhead.explain.tracer.axes import dimensions as sizes_text
from clearhead.explain.tracer.diagnosis.advice import likely_cause
from clearhead.explain.tracer.diagnosis.find import find, find_in_torch_checks
from clearhead.explain.tracer.diagnosis.mismatch import Mismatch, wrong_dtype
from clearhead.explain.tracer.propagation import NOT_UNDERSTOOD
from clearhead.explain.tracer.propagation.dimensions import MOVES
from clearhead.explain.tracer.recorder import Recorder
from clearhead.explain.tracer.rows import Operand
from clearhead.explain.tracer.source import Location, location_of_error


@dataclass(frozen=True)
class Mistake:
    """Why a forward pass failed.

    `axes` are the two axes that differ, `names` their labels; both are empty where no axes
    differ, as for ids that are not integers, and `problem` says what is wrong. `law` is the
    operation's rule, `slip` the likely cause, `message` torch's own.
    """

    operation: str
    path: str
    location: Location | None
    inputs: list[Operand]
    axes: tuple[Axis, ...]
    law: str
    slip: str
    message: str
    indices: tuple[int, int] = (0, 0)
    problem: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The labels of the axes."""
        return tuple(axis.label for axis in self.axes)

    @property
    def headline(self) -> str:
        """`matmul: d_k (64) does not match seq_len (10)`."""
        if not self.axes:
            return f"{self.operation}: {self.problem}"
        a, b = self.axes
        return f"{self.operation}: {a.label} ({a.size:,}) does not match {b.label} ({b.size:,})"

    @property
    def stories(self) -> list[str]:
        """Where each of the axes was created."""
        return [f"{axis.label} ({axis.size:,}): {axis.source}" for axis in self.axes]

    def lines(self) -> list[str]:
        """The whole explanation, one item a line."""
        where = f"{self.path}, " if self.path else ""
        where += f"{self.location.short}: {self.location.code}" if self.location else ""
        return [
            self.headline,
            f"where:        {where}",
            *(
                f"input:        {o.label or '·'}: {names(o.shape)} = {sizes_text(o.shape)}"
                for o in self.inputs
            ),
            f"rule:         {self.law}",
            *(f"origin:       {source}" for source in self.stories),
            f"likely cause: {self.slip}",
            f"torch:        {self.message}",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def explain(recorder: Recorder, error: Exception) -> Mistake | None:
    """The mistake behind an error, or None if the error is not about shapes or ids."""
    failure = recorder.failure
    if failure is None or failure.error is not error:
        rules = (_unpacking, _float_ids, _torch_check)
        return next(filter(None, (rule(recorder, error) for rule in rules)), None)
    call = failure.call
    inputs = [replace(operand, moved=_moved(recorder, operand)) for operand in failure.inputs]
    try:
        found = find(call, inputs, error)
    except NOT_UNDERSTOOD:  # an unusual call: torch's own message must do
        return None
    if found is None:
        return None
    return _mistake(call.name, call.path, call.location, inputs, found, error)


def _moved(recorder: Recorder, operand: Operand) -> str:
    """The transpose that made this operand and gave it another last axis; "" if none did."""
    for row, call in recorder.rows:
        made = call.name in MOVES and any(shape is operand.shape for shape in row.outputs)
        if made and row.inputs[0].shape[-1] is not operand.shape[-1]:
            return call.at
    return ""


def _mistake(
    operation: str,
    path: str,
    location: Location | None,
    inputs: list[Operand],
    found: Mismatch,
    error: Exception,
) -> Mistake:
    axes = () if found.problem else (found.a, found.b)
    slip, message = likely_cause(found, inputs), str(error).splitlines()[0]
    indices = found.index_a, found.index_b
    return Mistake(
        operation, path, location, inputs, axes, found.law, slip, message, indices, found.problem
    )


def _torch_check(recorder: Recorder, error: Exception) -> Mistake | None:
    """A module of torch checked its inputs and refused them."""
    try:
        found = find_in_torch_checks(error, recorder.axes.shape_of)
    except NOT_UNDERSTOOD:
        return None
    if found is None:
        return None
    operation, path = type(recorder.running[-1][0]).__name__, recorder.stack[-1].path
    return _mistake(operation, path, location_of_error(error), *found, error)


def _float_ids(recorder: Recorder, error: Exception) -> Mistake | None:
    """A module with an embedding checked its ids and refused them."""
    module, inputs = recorder.running[-1]
    ids = next((value for value in inputs if isinstance(value, Tensor)), None)
    if module is None or ids is None or not ids.is_floating_point():
        return None
    looks_up = any(isinstance(part, nn.Embedding) for part in module.children())
    about_types = re.search(r"\binteger|\blong\b|\bint(\d|\b)", str(error), re.IGNORECASE)
    if not looks_up and not about_types:
        return None
    shape = recorder.axes.shape_of(ids)
    path, location = recorder.stack[-1].path, location_of_error(error)
    found, operand = wrong_dtype(ids, shape), Operand("ids", shape)
    return _mistake(type(module).__name__, path, location, [operand], found, error)


def _unpacking(recorder: Recorder, error: Exception) -> Mistake | None:
    """`batch, length, width = x.shape` of a tensor with four axes."""
    shape = recorder.last_shape_read
    if "unpack" not in str(error) or shape is None:
        return None
    frame = traceback.extract_tb(error.__traceback__)[-1]
    location = Location(frame.filename, frame.lineno or 0, frame.name, frame.line or "", None)
    wanted = frame.line.partition("=")[0].count(",") + 1 if frame.line else 0
    law = f"the code names {wanted} axes, the tensor has {len(shape)}"
    missing = Axis(wanted, "names", "the names left of the =")
    have = Axis(len(shape), "axes", f"the axes {names(shape)}")
    cause = "the tensor is already split into heads, or not yet: print its shape one line earlier"
    path, inputs = recorder.stack[-1].path, [Operand("", shape)]
    return Mistake("unpack", path, location, inputs, (have, missing), law, cause, str(error))
