"""Watching a model without its knowledge: every operation and every module that runs.

A `TorchFunctionMode` sees what the code calls, as the code calls it, and hooks on all
modules say which one is running. The operations themselves are handed on untouched, so
the outputs are those of the unwatched model, to the last bit.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from clearhead.explain.tracer import cost
from clearhead.explain.tracer.axis import Shape, anonymous
from clearhead.explain.tracer.broadcasting import stretched
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.failure import Failure
from clearhead.explain.tracer.hints import Hints
from clearhead.explain.tracer.rows import Operand, Row
from clearhead.explain.tracer.rules import axes_of
from clearhead.explain.tracer.sizes import Sizes
from clearhead.explain.tracer.source import caller, operands, place_of
from clearhead.explain.tracer.words import describe

# They look, move or announce; they compute nothing.
_SILENT = {
    "size", "dim", "numel", "stride", "is_floating_point", "is_complex", "item", "tolist", "bool",
    "int", "float", "len", "index", "format", "repr", "hash", "set_grad_enabled", "requires_grad",
    "is_contiguous", "ndimension", "nelement", "element_size", "data_ptr", "storage_offset",
    "detach", "numpy", "get", "set", "contains", "untyped_storage", "is_nonzero", "get_device",
    "as_subclass", "register_hook", "retain_grad", "iter", "type", "is_same_size", "equal",
}  # fmt: skip
_TRANSPOSES = {"T", "mT", "H", "mH"}  # attributes, but operations all the same


class Watch(TorchFunctionMode):
    """Collects rows while a model runs inside `with watch.watching(): …`."""

    def __init__(self, root: Row, sizes: Sizes, building: bool) -> None:
        super().__init__()
        self.stack = [root]
        self.running: list[nn.Module | None] = [None]
        self.sizes, self.building = sizes, building
        self.shapes = WeakIdKeyDictionary()
        self.serials = WeakIdKeyDictionary()
        self.made = 0
        self.failure: Failure | None = None
        self.looked_at: Shape | None = None
        self.rows: list[tuple[Row, Call]] = []
        self.words: dict[int, str] = {}  # of parameters and buffers
        for path, module in sizes.modules.items():
            held = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
            for name, tensor in held:
                if tensor not in self.shapes:  # a tied matrix keeps its first names
                    self.words[id(tensor)] = f"{path}.{name}".lstrip(".")
                    self.know(tensor, sizes.parameter(path, module, name, tensor))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch everything that runs inside."""
        handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, with_kwargs=True),
        ]
        try:
            with self:
                yield
        finally:
            for handle in handles:
                handle.remove()

    def describe(self) -> None:
        """Say what the rows do: at the end, when as many axes as possible have their names."""
        for row, call in self.rows:
            row.what = describe(call, row.inputs, row.outputs)
            if row.outputs and call.name not in _NOT_BROADCAST:
                row.stretched = stretched(row.inputs)

    def know(self, tensor: Tensor, shape: Shape) -> None:
        """Remember the axes of a tensor, for as long as it lives."""
        self.shapes[tensor] = shape
        if tensor not in self.serials:
            self.made += 1
            self.serials[tensor] = self.made

    def shape_of(self, tensor: Tensor) -> Shape:
        """The axes of a tensor; one that was never seen gets unnamed ones."""
        known: Shape | None = self.shapes.get(tensor)
        if known is None or tuple(axis.size for axis in known) != tuple(tensor.shape):
            known = anonymous(tensor.shape, "a tensor that was there before")
            self.know(tensor, known)
        return known

    def serial_numbers(self, tensors: list[Tensor]) -> frozenset[int]:
        """Which tensors these are, also when they live no longer."""
        for tensor in tensors:
            self.shape_of(tensor)
        return frozenset(self.serials[tensor] for tensor in tensors)

    def _enter(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        path = self.sizes.paths.get(id(module), f"{self.stack[-1].path}.?".lstrip("."))
        place = place_of(caller(sys._getframe(1)))
        given = [Operand("", self.shape_of(value)) for value in inputs if isinstance(value, Tensor)]
        row = Row(path, type(module).__name__, "", "", place, given, [])
        row.parameters = sum(parameter.numel() for parameter in module.parameters())
        self.stack[-1].children.append(row)
        self.stack.append(row)
        self.running.append(module)

    def _leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        while self.running[-1] is not module:  # inner ones that ended by an exception
            self._pop()
        row = self._pop()
        row.inputs += [
            Operand(word, self.shape_of(value))
            for word, value in kwargs.items()
            if isinstance(value, Tensor)
        ]
        row.outputs = [self.shape_of(tensor) for tensor in tensors_in(output)]

    def _pop(self) -> Row:
        self.running.pop()
        return self.stack.pop()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = name_of(func)
        if name in _SILENT:
            if name in ("get", "size") and isinstance(args[0], Tensor):
                self.looked_at = self.shape_of(args[0])
            return func(*args, **(kwargs or {}))
        call = self._call(name, args, kwargs or {})
        try:
            result = func(*args, **(kwargs or {}))
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            inputs = self._operands(call)
            self.failure = Failure(call, inputs, error)
            self._append(call, inputs, [], failed=True)
            raise
        self._record(call, args, result)
        return result

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        frame = caller(sys._getframe(1))
        hints = Hints(frame, self.shape_of, self.building) if frame else None
        place = place_of(frame)
        return Call(
            name, args, kwargs, self.stack[-1].path, place, self.sizes, self.shape_of, hints
        )

    def _record(self, call: Call, args: tuple[Any, ...], result: Any) -> None:
        results = tensors_in(result)
        if not results or (results[0] is (args or (None,))[0] and not _writes(call.name)):
            return  # `contiguous()` of what is contiguous, dropout in eval
        inputs = self._operands(call)
        for tensor in results:
            if tensor not in self.shapes:
                self.know(tensor, axes_of(call, tensor.shape))
        self._append(call, inputs, results)

    def _operands(self, call: Call) -> list[Operand]:
        by_module = type(self.running[-1]).__module__.startswith("torch.")
        written = operands(call.place.node, call.name, by_module) if call.place else []
        found = []
        for i, value in enumerate([*call.args, *call.kwargs.values()]):
            for tensor in tensors_in(value):
                word = self.words.get(id(tensor), "")
                label = word or (written[i] if i < len(written) and tensor is value else "")
                found.append(Operand(label, self.shape_of(tensor), learned=bool(word)))
        return found

    def _append(
        self, call: Call, inputs: list[Operand], results: list[Tensor], failed: bool = False
    ) -> None:
        tensors = call.tensors()
        outputs = [self.shape_of(tensor) for tensor in results]
        row = Row(call.path, "", call.name, "", call.place, inputs, outputs)
        self.rows.append((row, call.without_tensors()))
        row.parameters = cost.parameters(tensors)
        row.doubts, row.failed = list(dict.fromkeys(call.doubts)), failed
        if results:
            row.flops = cost.flops(call.name, call.args, tensors, results[0])
            row.bytes = sum(cost.memory(result, tensors) for result in results)
        row.reads, row.writes = self.serial_numbers(tensors), self.serial_numbers(results)
        self.stack[-1].children.append(row)


_NOT_BROADCAST = {"linear", "embedding", "cat", "stack", "getitem", "layer_norm", "einsum", "lstm"}


def name_of(func: Callable[..., Any]) -> str:
    """`add` for `Tensor.__radd__` and `add_`; `get` for attributes that are no operation."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        owner = getattr(getattr(func, "__self__", None), "__name__", "")
        return owner if owner in _TRANSPOSES else "get"
    return name.strip("_")


def _writes(name: str) -> bool:
    return name not in ("contiguous", "to", "dropout", "float", "type_as", "view_as", "clone")


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors of a result, which may be a tuple, a list or a dictionary of them."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []
