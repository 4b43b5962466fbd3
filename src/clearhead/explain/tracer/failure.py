"""The operation at which a forward pass broke off."""

from dataclasses import dataclass

from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.rows import Operand


@dataclass(frozen=True)
class Failure:
    """What was called with what, and what torch said."""

    call: Call
    inputs: list[Operand]
    error: Exception
