"""One operation while its result's axes are named: arguments, input shapes, size expressions."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from torch import Tensor

from clearhead.explain.tracer import axes
from clearhead.explain.tracer.axes import LENGTHS, SYNONYMS, Axis, Shape, broadcast_axis, canonical
from clearhead.explain.tracer.model_axes import ModelSizes, tensors_in
from clearhead.explain.tracer.source import Location, called_name, look_up, size_expressions

Lookup = Callable[[Tensor], Shape]
Hint = Axis | str | None  # an existing axis, the name of a new axis, or nothing known


@dataclass(frozen=True)
class SizeHints:
    """Reads size expressions in one frame; `shape_of` returns the axes of recorded tensors."""

    frame: FrameType
    shape_of: Lookup
    in_constructor: bool = False  # a length in a constructor is the maximum length

    def read(self, expressions: list[ast.expr]) -> list[Hint]:
        """One hint for each size; `*x.shape[:2]` gives two."""
        return [hint for expression in expressions for hint in self._hints(expression)]

    def _hints(self, node: ast.expr) -> list[Hint]:
        starred = isinstance(node, ast.Starred)
        found = self._existing(node.value if isinstance(node, ast.Starred) else node)
        if isinstance(found, tuple):
            return list(found)
        return [None] if starred else [found or self._name(node)]

    def _name(self, node: ast.expr) -> str | None:
        """`self.h` gives h, `self.h * self.d_k` gives h·d_k, `self.n_classes` keeps its name."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            factors = [self._name(node.left), self._name(node.right)]
            return "·".join(f for f in factors if f) if all(factors) else None
        word = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        name = canonical(word) or (word if isinstance(node, ast.Attribute) else None)
        if name in LENGTHS and (self.in_constructor or isinstance(node, ast.Attribute)):
            return "max_seq_len"
        return name

    def _existing(self, node: ast.expr) -> Axis | Shape | None:
        """The axes that `x.shape[1]`, `x.size(1)`, `x.shape[:2]` or `x.shape` refer to."""
        if isinstance(node, ast.Subscript):
            return _index(self._shape(node.value), node.slice)
        if isinstance(node, ast.Call) and node.args:
            return _index(self._shape(node), node.args[0])
        return self._shape(node)

    def _shape(self, node: ast.expr) -> Shape | None:
        if isinstance(node, ast.Call):  # x.size()
            node = node.func
        if not isinstance(node, ast.Attribute) or node.attr not in ("shape", "size"):
            return None
        tensor = look_up(self.frame, node.value)
        return self.shape_of(tensor) if isinstance(tensor, Tensor) else None


def _index(shape: Shape | None, index: ast.expr) -> Axis | Shape | None:
    if shape is None:
        return None
    bounds = [index.lower, index.upper, index.step] if isinstance(index, ast.Slice) else [index]
    try:
        values = [None if bound is None else ast.literal_eval(bound) for bound in bounds]
        return shape[slice(*values)] if isinstance(index, ast.Slice) else shape[values[0] or 0]
    except (ValueError, IndexError, TypeError):
        return None


@dataclass
class Call:
    """What a propagation rule needs in order to name the axes of a result."""

    name: str  # without underscores: `add` for `__radd__` and `add_`
    args: Sequence[Any]
    kwargs: dict[str, Any]
    path: str  # of the module that is running
    location: Location | None
    sizes: ModelSizes
    shape_of: Lookup
    hints: SizeHints | None
    doubts: list[str] = field(default_factory=list)

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """An argument by keyword or by position."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if position < len(self.args) else default

    def dim(self, default: Any = None) -> Any:
        """The argument `dim`, also called `axis`."""
        position = 2 if self.name == "norm" else 1
        return self.argument(position, "dim", self.kwargs.get("axis", default))

    def shape(self, position: int = 0, name: str = "input") -> Shape:
        """The axes of a tensor argument; () for any other argument."""
        value = self.argument(position, name)
        return self.shape_of(value) if isinstance(value, Tensor) else ()

    def tensors(self) -> list[Tensor]:
        """Every tensor among the arguments, including those inside lists."""
        return tensors_in([*self.args, *self.kwargs.values()])

    def size_hints(self, skip: int, count: int) -> list[Hint]:
        """Hints from the source text for the `count` sizes that are written in this call."""
        node = self.location.node if self.location else None
        # In `self.attention(x)` a module of torch calls the operation: x is no size.
        own = called_name(node).strip("_") == self.name
        written = size_expressions(node, skip) if own else []
        hints = self.hints.read(written) if written and self.hints else []
        return hints if len(hints) == count else [None] * count

    def new_axis(self, size: int, hint: Hint, origin: str) -> Axis:
        """An axis that this call creates, named by its expression or the model's attributes."""
        if isinstance(hint, Axis) and hint.size == size:
            return hint
        if isinstance(hint, str) and hint:
            return Axis(size, hint, origin, certain=hint not in LENGTHS)
        if size == 1:
            return broadcast_axis(origin)
        name, certain = self.sizes.name(self.path, size)
        known = name in SYNONYMS or name in self.sizes.arrived
        return Axis(size, name if known else "", origin, certain)

    def unify(self, a: Axis, b: Axis) -> None:
        """Unify two axes; different names with the same size are recorded as a doubt."""
        if not axes.unify(a, b):
            self.doubts.append(
                f"{a.label} is combined with {b.label}: they match only because both are {a.size}"
            )

    def without_tensors(self) -> "Call":
        """The same call, keeping neither a tensor nor a frame alive."""
        args = [None if tensors_in(value) else value for value in self.args]
        kwargs = {word: value for word, value in self.kwargs.items() if not tensors_in(value)}
        return replace(self, args=args, kwargs=kwargs, shape_of=lambda _: (), hints=None)

    @property
    def at(self) -> str:
        """`view at attention.py:73`, for the origin of an axis."""
        return f"{self.name} at {self.location.short}" if self.location else self.name
