"""The shape tracer: what happens to every axis in the forward pass of a module."""

from clearhead.explain.tracer.mistake import Mistake
from clearhead.explain.tracer.rows import Operand, Row
from clearhead.explain.tracer.tracing import Trace, trace

__all__ = ["Mistake", "Operand", "Row", "Trace", "trace"]
