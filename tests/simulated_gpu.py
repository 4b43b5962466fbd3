"""A GPU where there is none: tensors on it do not mix with those of the CPU.

Each tensor on "cuda" holds one of the CPU, on which its operations run. So values are the CPU's;
an operation on tensors of both devices fails as on a GPU, and so does the conversion to NumPy. What
is not simulated: streams, kernels with other rounding, memory. Only for tests, since it relies on
parts of torch that are not public (as `torch._subclasses.FakeTensorMode` does).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
aten = torch.ops.aten
COPIES = (aten._to_copy.default, aten.copy_.default)
# A GPU takes indices that lie on the CPU.
INDEXED = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default)
_to = Tensor.to


class OnGpu(Tensor):
    """A tensor on the simulated GPU; torch's own code takes it for one on the meta device."""

    held: Tensor
    device = property(lambda self: CUDA)
    is_cuda = property(lambda self: True)
    is_cpu = is_meta = property(lambda self: False)
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: Tensor) -> "OnGpu":
        new = Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device("meta"),
            requires_grad=held.requires_grad,
        )
        new.held = held.detach()
        return new

    @classmethod
    def __torch_dispatch__(cls, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(op, args, kwargs or {})

    @property
    def data(self) -> Tensor:
        return OnGpu(self.held)

    @data.setter
    def data(self, other: Tensor) -> None:
        assert isinstance(other, OnGpu)
        self.held = other.held

    def __getitem__(self, index: Any) -> Tensor:
        return super().__getitem__(_without_lists(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(_without_lists(index), value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            new: Tensor = OnGpu(self.held.clone())
            is_parameter = isinstance(self, nn.Parameter)
            memo[id(self)] = nn.Parameter(new, self.requires_grad) if is_parameter else new
        return memo[id(self)]

    def tolist(self) -> Any:
        return self.held.tolist()

    def data_ptr(self) -> int:
        return self.held.data_ptr()

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("can't convert a tensor on cuda:0 to numpy; use Tensor.cpu() first")

    __array__ = numpy  # type: ignore[assignment]

    def __repr__(self, **kwargs: Any) -> str:
        return f"OnGpu({self.held!r})"


class _Everywhere(TorchDispatchMode):
    """Also operations without a tensor on the GPU may make one: torch.zeros(3, device="cuda")."""

    def __init__(self) -> None:
        super().__init__()
        # With this key torch does not initialize CUDA when it reads device="cuda".
        self._mode_key = torch._C._TorchDispatchModeKey.FAKE

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(op, args, kwargs or {})


def computed(op: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of an operation, on the device on which a GPU would leave it.

    Raises:
        RuntimeError: tensors of both devices are given.
    """
    every, structure = tree_flatten((args, kwargs))
    on_gpu = [x for x in every if isinstance(x, OnGpu)]
    if on_gpu and op not in COPIES:
        _refuse_mixed(op, args, every)
    values = [x.held if isinstance(x, OnGpu) else x for x in every]
    own_args, own_kwargs = tree_unflatten(values, structure)
    to_gpu = bool(on_gpu)
    if (device := own_kwargs.get("device")) is not None:
        to_gpu = torch.device(device).type in ("cuda", "meta")  # meta: that of an OnGpu
        own_kwargs["device"] = CPU
    result = op(*own_args, **own_kwargs)
    if op._schema.is_mutable:  # what was changed in place is the same tensor as before
        same = {id(x.held): x for x in on_gpu}
        to_gpu = to_gpu and not (isinstance(args[0], Tensor) and not isinstance(args[0], OnGpu))
        return tree_map(lambda x: same.get(id(x), _moved(x, to_gpu)), result)
    return tree_map(lambda x: _moved(x, to_gpu), result)


def _moved(value: Any, to_gpu: bool) -> Any:
    return OnGpu(value) if to_gpu and isinstance(value, Tensor) else value


def _refuse_mixed(op: Any, args: Any, every: list[Any]) -> None:
    own = [args[0], *args[2:]] if op in INDEXED else every
    wrong = [x for x in own if isinstance(x, Tensor) and not isinstance(x, OnGpu) and x.dim()]
    if wrong:
        raise RuntimeError(
            f"Expected all tensors to be on the same device: {op} of a tensor on cuda and one of "
            f"shape {tuple(wrong[0].shape)} on cpu"
        )


def _without_lists(index: Any) -> Any:
    """Torch would make a list into a tensor on the meta device, which has no values."""
    if isinstance(index, tuple):
        return tuple(_without_lists(one) if isinstance(one, list) else one for one in index)
    if isinstance(index, list):
        return _to(torch.tensor(index, dtype=None if index else torch.long), CUDA)
    return index


def _with_number(value: Any) -> Any:
    """Torch would ask CUDA for the number of the device."""
    return CUDA if isinstance(value, str | torch.device) and str(value) == "cuda" else value


def _moved_to(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    named = {key: _with_number(value) for key, value in kwargs.items()}
    return _to(tensor, *map(_with_number, args), **named)


def _enter(mode: Any) -> None:
    mode.before = torch.is_grad_enabled()
    torch.set_grad_enabled(mode.before and not mode.mode)


def _leave(mode: Any, *error: Any) -> None:
    torch.set_grad_enabled(mode.before)


@contextmanager
def simulated_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within it torch finds one GPU."""
    answers = {
        "is_available": True, "device_count": 1, "current_device": 0, "is_bf16_supported": True,
        "get_device_name": "simulated", "get_device_capability": (9, 0), "synchronize": None,
        "empty_cache": None, "reset_peak_memory_stats": None, "max_memory_allocated": 1 << 20,
        "memory_allocated": 1 << 20, "mem_get_info": (1 << 34, 1 << 34), "manual_seed_all": None,
    }  # fmt: skip
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, lambda *_, _answer=answer, **__: _answer)
    state, set_state = torch.get_rng_state, torch.set_rng_state  # one generator serves both
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda *_: state())
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda new, *_: set_state(new))
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: [state()])
    monkeypatch.setattr(torch.cuda, "set_rng_state_all", lambda new: set_state(new[0]))
    monkeypatch.setattr(Tensor, "to", _moved_to)
    monkeypatch.setattr(Tensor, "cuda", lambda tensor, *_, **__: _to(tensor, CUDA))
    # A wrapper cannot be an inference tensor.
    monkeypatch.setattr(torch.inference_mode, "__enter__", _enter)
    monkeypatch.setattr(torch.inference_mode, "__exit__", _leave)
    lifted = torch._C._only_lift_cpu_tensors()
    swapped = torch.__future__.get_swap_module_params_on_conversion()
    torch._C._set_only_lift_cpu_tensors(True)
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        with _Everywhere():
            yield
    finally:
        torch._C._set_only_lift_cpu_tensors(lifted)
        torch.__future__.set_swap_module_params_on_conversion(swapped)
