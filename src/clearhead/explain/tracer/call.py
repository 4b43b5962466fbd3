"""One operation while it is being named: its arguments, and the axes of what goes in."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from clearhead.explain.tracer.axis import LENGTHS, SYNONYMS, Axis, Shape, agree, anonymous, one
from clearhead.explain.tracer.hints import Hint, Hints, Lookup
from clearhead.explain.tracer.sizes import Sizes
from clearhead.explain.tracer.source import Place, sizes_of


@dataclass
class Call:
    """What a rule needs to know in order to name the axes of a result."""

    name: str  # without underscores: `add` for `__radd__` and `add_`
    args: Sequence[Any]
    kwargs: dict[str, Any]
    path: str  # of the module that runs
    place: Place | None
    sizes: Sizes
    shape_of: Lookup
    hints: Hints | None
    doubts: list[str] = field(default_factory=list)

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """An argument by its place or by its name."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if position < len(self.args) else default

    def shape(self, position: int = 0, name: str = "input") -> Shape:
        """The axes of a tensor argument; of anything else, none."""
        value = self.argument(position, name)
        return (self.shape_of(value) or ()) if isinstance(value, Tensor) else ()

    def tensors(self) -> list[Tensor]:
        """Every tensor among the arguments, lists opened."""
        return list(_tensors([*self.args, *self.kwargs.values()]))

    def size_hints(self, skip: int, count: int) -> list[Hint]:
        """What the source says about the `count` sizes that are written in this call."""
        written = self.place and sizes_of(self.place.node, skip)
        hints = self.hints.read(written) if written and self.hints else []
        return hints if len(hints) == count else [None] * count

    def new_axis(self, size: int, hint: Hint, origin: str) -> Axis:
        """An axis that this call makes, named by its expression or by the model's attributes."""
        if isinstance(hint, Axis) and hint.size == size:
            return hint
        name = hint if isinstance(hint, str) else ""
        if name:
            return Axis(size, name, origin, sure=name not in LENGTHS)
        if size == 1:
            return one(origin)
        name, sure = self.sizes.name(self.path, size)
        return Axis(size, name if name in SYNONYMS else "", origin, sure)

    def meet(self, a: Axis, b: Axis) -> None:
        """Two axes are used as one; different names are a coincidence worth a word."""
        if not agree(a, b):
            self.doubts.append(
                f"{a.label} meets {b.label}: they fit only because both happen to be {a.size}"
            )

    def without_tensors(self) -> "Call":
        """The same call, which keeps no tensor and no frame alive."""
        args = [None if isinstance(value, Tensor) else value for value in self.args]
        plain = [
            None if isinstance(value, list | tuple) and _tensors(value) else value for value in args
        ]
        kwargs = {word: value for word, value in self.kwargs.items() if not _tensors([value])}
        return replace(self, args=plain, kwargs=kwargs, shape_of=lambda _: None, hints=None)

    @property
    def here(self) -> str:
        """`view in forward, attention.py:73`, for the story of an axis."""
        return f"{self.name} at {self.place.short}" if self.place else self.name


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found.extend(_tensors(value))
    return found


def same_places(source: Shape, wanted: Sequence[int]) -> Shape:
    """Axes of a result of which nothing is known: those of the source where the size stayed."""
    fresh = anonymous(wanted)
    return tuple(
        source[i] if i < len(source) and source[i].size == size else fresh[i]
        for i, size in enumerate(wanted)
    )
