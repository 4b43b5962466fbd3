"""What torch calls its operations, and which of them are worth a row."""

from collections.abc import Callable
from typing import Any

# They look, move or announce; they compute nothing.
SILENT = {
    "size", "dim", "numel", "stride", "is_floating_point", "is_complex", "item", "tolist", "len",
    "index", "format", "repr", "hash", "set_grad_enabled", "requires_grad", "is_contiguous",
    "ndimension", "nelement", "element_size", "data_ptr", "storage_offset", "detach", "numpy",
    "get", "set", "contains", "untyped_storage", "is_nonzero", "get_device", "as_subclass",
    "register_hook", "retain_grad", "iter", "type", "is_same_size", "equal",
}  # fmt: skip
# Operations whose operands are not laid over each other.
NOT_BROADCAST = {"linear", "embedding", "cat", "stack", "getitem", "layer_norm", "einsum", "lstm"}
# They may hand back the very tensor that they got, and then have done nothing.
_IDLE = {"contiguous", "to", "dropout", "float", "type_as", "view_as", "clone"}
_TRANSPOSES = {"T", "mT", "H", "mH"}  # attributes, but operations all the same


def name_of(func: Callable[..., Any]) -> str:
    """`add` for `Tensor.__radd__` and `add_`; `get` for attributes that are no operation."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        owner = getattr(getattr(func, "__self__", None), "__name__", "")
        return owner if owner in _TRANSPOSES else "get"
    return name.strip("_")


def is_idle(name: str, first: Any, result: Any) -> bool:
    """`contiguous()` of what is contiguous, dropout in eval."""
    return result is first and name in _IDLE
