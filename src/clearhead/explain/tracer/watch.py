"""Watching a model without its knowledge: every operation and every module that runs.

A `TorchFunctionMode` sees what the code calls, as the code calls it, and hooks on all
modules say which one is running. The operations themselves are handed on untouched, so
the outputs are those of the unwatched model, to the last bit.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.overrides import TorchFunctionMode

from clearhead.explain.tracer import cost
from clearhead.explain.tracer.axis import Shape
from clearhead.explain.tracer.broadcasting import stretched
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.elementwise import elementwise
from clearhead.explain.tracer.failure import Failure
from clearhead.explain.tracer.hints import Hints
from clearhead.explain.tracer.ledger import Ledger, tensors_in
from clearhead.explain.tracer.operations import NOT_BROADCAST, SILENT, is_idle, name_of
from clearhead.explain.tracer.rows import Operand, Row
from clearhead.explain.tracer.rules import axes_of
from clearhead.explain.tracer.sizes import Sizes
from clearhead.explain.tracer.source import caller, operands, place_of
from clearhead.explain.tracer.words import describe


class Watch(TorchFunctionMode):
    """Collects rows while a model runs inside `with watch.watching(): …`."""

    def __init__(self, root: Row, sizes: Sizes, building: bool) -> None:
        super().__init__()
        self.stack = [root]
        self.running: list[nn.Module | None] = [None]
        self.sizes, self.building = sizes, building
        self.ledger = Ledger(sizes)
        self.failure: Failure | None = None
        self.looked_at: Shape | None = None
        self.rows: list[tuple[Row, Call]] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch everything that runs inside."""
        handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, with_kwargs=True),
        ]
        # `nn.MultiheadAttention` asks it whether to be one operation; so it shows what it does.
        opened = patch.object(functional, "has_torch_function", lambda tensors: False)
        try:
            with opened, self:
                yield
        finally:
            for handle in handles:
                handle.remove()

    def describe(self) -> None:
        """Say what the rows do: at the end, when as many axes as possible have their names."""
        for row, call in self.rows:
            row.what = describe(call, row.inputs, row.outputs)
            if row.outputs and call.name not in NOT_BROADCAST:
                row.stretched = stretched(row.inputs)

    def _enter(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        path = self.sizes.paths.get(id(module), f"{self.stack[-1].path}.?".lstrip("."))
        place = place_of(caller(sys._getframe(1)))
        given = [
            Operand("", self.ledger.shape_of(value))
            for value in inputs
            if isinstance(value, Tensor)
        ]
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
            Operand(word, self.ledger.shape_of(value))
            for word, value in kwargs.items()
            if isinstance(value, Tensor)
        ]
        row.outputs = [self.ledger.shape_of(tensor) for tensor in tensors_in(output)]

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
        if name in SILENT:
            if name in ("get", "size") and isinstance(args[0], Tensor):
                self.looked_at = self.ledger.shape_of(args[0])
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
        hints = Hints(frame, self.ledger.shape_of, self.building) if frame else None
        place = place_of(frame)
        return Call(
            name, args, kwargs, self.stack[-1].path, place, self.sizes, self.ledger.shape_of, hints
        )

    def _record(self, call: Call, args: tuple[Any, ...], result: Any) -> None:
        results = [args[0]] if call.name == "setitem" else tensors_in(result)
        if not results or is_idle(call.name, (args or (None,))[0], result):
            return
        inputs = self._operands(call)
        for tensor in results:
            shape = axes_of(call, tensor.shape)
            if tensor not in self.ledger.shapes:  # what is changed in place keeps its names
                self.ledger.know(tensor, shape)
        self._append(call, inputs, results)

    def _operands(self, call: Call) -> list[Operand]:
        by_module = type(self.running[-1]).__module__.startswith("torch.")
        written = operands(call.place.node, call.name, by_module) if call.place else []
        found = []
        for i, value in enumerate([*call.args, *call.kwargs.values()]):
            for tensor in tensors_in(value):
                word = self.ledger.words.get(id(tensor), "")
                label = word or (written[i] if i < len(written) and tensor is value else "")
                found.append(Operand(label, self.ledger.shape_of(tensor), learned=bool(word)))
        return found

    def _append(
        self, call: Call, inputs: list[Operand], results: list[Tensor], failed: bool = False
    ) -> None:
        tensors = call.tensors()
        outputs = [self.ledger.shape_of(tensor) for tensor in results]
        row = Row(call.path, "", call.name, "", call.place, inputs, outputs)
        self.rows.append((row, call.without_tensors()))
        row.parameters = cost.parameters(tensors)
        row.doubts, row.failed = list(dict.fromkeys(call.doubts)), failed
        if results:
            row.products = cost.products(call.name, call.args, tensors, results[0])
            dim = call.argument(1, "dim", call.kwargs.get("axis"))
            row.elementwise = elementwise(call.name, dim, tensors, results[0])
            row.bytes = sum(cost.memory(result, tensors) for result in results)
        row.reads, row.writes = self.ledger.numbers(tensors), self.ledger.numbers(results)
        self.stack[-1].children.append(row)
