"""Names for new axes, read off the expressions that the model's author wrote for their sizes."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from torch import Tensor

from clearhead.explain.tracer.axis import LENGTHS, Axis, Shape, canonical
from clearhead.explain.tracer.source import look_up

Lookup = Callable[[Tensor], Shape | None]
Hint = Axis | str | None  # an axis that exists, the name of a new one, or nothing to go by


@dataclass(frozen=True)
class Hints:
    """Reads size expressions in one frame; `shape_of` knows the axes of tensors seen before."""

    frame: FrameType
    shape_of: Lookup
    building: bool = False  # in a constructor a length is the longest possible

    def read(self, expressions: list[ast.expr]) -> list[Hint]:
        """One hint a size; `*x.shape[:2]` gives two."""
        return [hint for expression in expressions for hint in self._hints(expression)]

    def _hints(self, node: ast.expr) -> list[Hint]:
        if isinstance(node, ast.Starred):
            taken = self._of_a_shape(node.value)
            return list(taken) if isinstance(taken, tuple) else [None]
        taken = self._of_a_shape(node)
        if isinstance(taken, Axis):
            return [taken]
        return list(taken) if isinstance(taken, tuple) else [self._word(node)]

    def _word(self, node: ast.expr) -> str | None:
        """`self.h` is h; `self.h * self.d_k` is h·d_k; `n_classes` stays what it is called."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            factors = [self._word(node.left), self._word(node.right)]
            return "·".join(f for f in factors if f) if all(factors) else None
        word = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        name = canonical(word) or (word if isinstance(node, ast.Attribute) else None)
        if name in LENGTHS and (self.building or isinstance(node, ast.Attribute)):
            return "max_seq_len"
        return name

    def _of_a_shape(self, node: ast.expr) -> Axis | Shape | None:
        """`x.shape[1]`, `x.size(1)`, `x.shape[:2]`, `x.shape`: axes that exist already."""
        if isinstance(node, ast.Subscript):
            return _pick(self._whole_shape(node.value), node.slice)
        if isinstance(node, ast.Call) and node.args:
            return _pick(self._whole_shape(node), node.args[0])
        return self._whole_shape(node)

    def _whole_shape(self, node: ast.expr) -> Shape | None:
        if isinstance(node, ast.Call):  # x.size()
            node = node.func
        if not isinstance(node, ast.Attribute) or node.attr not in ("shape", "size"):
            return None
        tensor = look_up(self.frame, node.value)
        return self.shape_of(tensor) if isinstance(tensor, Tensor) else None


def _pick(shape: Shape | None, index: ast.expr) -> Axis | Shape | None:
    if shape is None:
        return None
    bounds = [index.lower, index.upper, index.step] if isinstance(index, ast.Slice) else [index]
    try:
        values = [None if bound is None else ast.literal_eval(bound) for bound in bounds]
        return shape[slice(*values)] if isinstance(index, ast.Slice) else shape[values[0] or 0]
    except (ValueError, IndexError, TypeError):
        return None
