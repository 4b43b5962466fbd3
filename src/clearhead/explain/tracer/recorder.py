"""Records every operation and every module that runs.

A `TorchFunctionMode` sees each operation as the code calls it, and forward hooks on all modules
say which module is running. The operations themselves are passed on unchanged, so the outputs
are bit-identical to those of the untraced model.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any
from unittest.mock import patch

from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from clearhead.explain.tracer import cost
from clearhead.explain.tracer.axes import Axis, Shape
from clearhead.explain.tracer.call import Call, SizeHints
from clearhead.explain.tracer.descriptions import describe, formula
from clearhead.explain.tracer.model_axes import AxisRegistry, ModelSizes, tensors_in
from clearhead.explain.tracer.propagation import axes_of
from clearhead.explain.tracer.rows import Operand, Row
from clearhead.explain.tracer.source import calling_frame, location_of, operand_texts

# They inspect, convert or announce; they compute nothing.
_IGNORED = {
    "size", "dim", "numel", "stride", "is_floating_point", "is_complex", "item", "tolist", "len",
    "index", "format", "repr", "hash", "set_grad_enabled", "requires_grad", "is_contiguous",
    "ndimension", "nelement", "element_size", "data_ptr", "storage_offset", "detach", "numpy",
    "get", "set", "contains", "untyped_storage", "is_nonzero", "get_device", "as_subclass",
    "register_hook", "retain_grad", "iter", "type", "is_same_size", "equal",
}  # fmt: skip
# They may return their very input, and then have computed nothing.
_MAY_BE_IDLE = {"contiguous", "to", "dropout", "float", "type_as", "view_as", "clone"}
# Operations whose operands are not broadcast against each other.
_NOT_BROADCAST = {"linear", "embedding", "cat", "stack", "getitem", "layer_norm", "einsum", "lstm"}
_TRANSPOSES = {"T", "mT", "H", "mH"}  # attributes, but operations all the same
_ONE_AT_A_TIME = threading.RLock()  # hooks and the patch of torch belong to the whole process


@dataclass(frozen=True)
class Failure:
    """The operation at which a forward pass failed, and torch's error."""

    call: Call
    inputs: list[Operand]
    error: Exception


class Recorder(TorchFunctionMode):
    """Collects rows while a model runs inside `with recorder.recording(): …`."""

    def __init__(self, root: Row, sizes: ModelSizes, in_constructor: bool) -> None:
        super().__init__()
        self.stack = [root]
        self.running: list[tuple[nn.Module | None, tuple[Any, ...]]] = [(None, ())]
        self.sizes, self.in_constructor = sizes, in_constructor
        self.axes = AxisRegistry(sizes)
        self.failure: Failure | None = None
        self.thread = threading.get_ident()
        self.last_shape_read: Shape | None = None
        self.rows: list[tuple[Row, Call]] = []
        self.counted: set[int] = set()  # parameters that a row has counted
        self.learned: dict[int, int] = {}  # elements of each parameter that was seen

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record everything that runs inside."""
        entering = register_module_forward_pre_hook(self._enter)
        leaving = register_module_forward_hook(self._leave, with_kwargs=True)
        # Otherwise `nn.MultiheadAttention` would run as one opaque operation.
        unfused = patch.object(functional, "has_torch_function", lambda tensors: False)
        with _ONE_AT_A_TIME, entering, leaving, unfused, self:
            yield

    def describe(self) -> None:
        """Describe the rows: at the end, when as many axes as possible have names."""
        for row, call in self.rows:
            row.what = describe(call, row.inputs, row.outputs)
            row.formula = formula(call, row.inputs, row.outputs)
            if row.outputs and call.name not in _NOT_BROADCAST:
                row.stretched = broadcasting(row.inputs)

    def _enter(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if threading.get_ident() != self.thread:  # hooks of modules are those of all threads
            return
        path = self.sizes.paths.get(id(module), f"{self.stack[-1].path}.?".lstrip("."))
        location = location_of(calling_frame(sys._getframe(1)))
        given = [Operand("", self.axes.shape_of(v)) for v in inputs if isinstance(v, Tensor)]
        row = Row(path, type(module).__name__, "", "", location, given, [])
        row.parameters = self._uncounted(module.parameters())
        self.stack[-1].children.append(row)
        self.stack.append(row)
        self.running.append((module, inputs))

    def _leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        if threading.get_ident() != self.thread:
            return
        while self.running[-1][0] is not module:  # inner ones that ended by an exception
            self._pop()
        row = self._pop()
        row.inputs += [
            Operand(word, self.axes.shape_of(value))
            for word, value in kwargs.items()
            if isinstance(value, Tensor)
        ]
        row.outputs = [self.axes.shape_of(tensor) for tensor in tensors_in(output)]

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
        name = operation_name(func)
        if name in _IGNORED:
            if name in ("get", "size") and isinstance(args[0], Tensor):
                self.last_shape_read = self.axes.shape_of(args[0])
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
        frame, shape_of = calling_frame(sys._getframe(1)), self.axes.shape_of
        hints = SizeHints(frame, shape_of, self.in_constructor) if frame else None
        path, location = self.stack[-1].path, location_of(frame)
        return Call(name, args, kwargs, path, location, self.sizes, shape_of, hints)

    def _record(self, call: Call, args: tuple[Any, ...], result: Any) -> None:
        results = [args[0]] if call.name == "setitem" else tensors_in(result)
        idle = call.name in _MAY_BE_IDLE and bool(args) and result is args[0]
        if not results or idle:
            return
        inputs = self._operands(call)
        for tensor in results:
            shape = axes_of(call, tensor.shape)
            if tensor not in self.axes.shapes:  # a tensor changed in place keeps its names
                self.axes.register(tensor, shape)
        self._append(call, inputs, results)

    def _operands(self, call: Call) -> list[Operand]:
        in_torch_module = type(self.running[-1][0]).__module__.startswith("torch.")
        node = call.location.node if call.location else None
        texts = operand_texts(node, call.name, in_torch_module)
        found = []
        for i, value in enumerate([*call.args, *call.kwargs.values()]):
            for tensor in tensors_in(value):
                name = self.axes.names.get(id(tensor), "")
                label = name or (texts[i] if i < len(texts) and tensor is value else "")
                found.append(Operand(label, self.axes.shape_of(tensor), learned=bool(name)))
        return found

    def _append(
        self, call: Call, inputs: list[Operand], results: list[Tensor], failed: bool = False
    ) -> None:
        tensors = call.tensors()
        outputs = [self.axes.shape_of(tensor) for tensor in results]
        row = Row(call.path, "", call.name, "", call.location, inputs, outputs, failed=failed)
        self.rows.append((row, call.without_tensors()))
        learned = [tensor for tensor in tensors if isinstance(tensor, nn.Parameter)]
        tied = [self.axes.names.get(id(t), "") for t in learned if id(t) in self.counted]
        row.tied, row.parameters = ", ".join(filter(None, tied)), self._uncounted(learned)
        self.counted |= {id(tensor) for tensor in learned}
        row.doubts = list(dict.fromkeys(call.doubts))
        if results:
            name = call.name.removesuffix("_cell")  # lstm_cell: one step of an lstm
            row.products = cost.products(name, call.args, tensors, results[0])
            dim = call.argument(5, "training") if name == "batch_norm" else call.dim()
            row.elementwise = cost.elementwise(name, dim, tensors, results[0])
            row.bytes = sum(cost.memory(result, tensors) for result in results)
        row.reads, row.writes = self.axes.serials_of(tensors), self.axes.serials_of(results)
        self.stack[-1].children.append(row)

    def _uncounted(self, tensors: Any) -> int:
        """Elements of the parameters that no row has counted yet, each parameter once."""
        found = {id(tensor): tensor.numel() for tensor in tensors}
        self.learned |= found
        return sum(count for key, count in found.items() if key not in self.counted)


def operation_name(func: Callable[..., Any]) -> str:
    """`add` for `Tensor.__radd__` and `add_`; `get` for attributes that compute nothing."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        owner = getattr(getattr(func, "__self__", None), "__name__", "")
        return owner if owner in _TRANSPOSES else "get"
    return name.strip("_")


def broadcasting(inputs: Sequence[Operand]) -> list[str]:
    """One entry for each dimension of two operands of different shapes; [] for equal ones."""
    if len(inputs) < 2:
        return []
    a, b = inputs[0].shape, inputs[1].shape
    if [x.size for x in a] == [x.size for x in b] or not a or not b:
        return []
    pairs = list(zip_longest(reversed(a), reversed(b)))
    if any(x and y and x.size != y.size and 1 not in (x.size, y.size) for x, y in pairs):
        return []
    return [_dimension(x, y) for x, y in reversed(pairs)]


def _dimension(a: Axis | None, b: Axis | None) -> str:
    if a is None or b is None:
        present = a or b
        return f"{present.resolved.name or '·'}: none → {present.size}" if present else ""
    if a.size == b.size:
        return f"{(b if a.broadcasts else a).resolved.name or '·'}: {a.size} = {b.size}"
    wide = a if b.size == 1 else b
    return f"{wide.resolved.name or '·'}: 1 → {wide.size}"
