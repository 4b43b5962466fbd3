"""What was seen of an answer, as plain JSON: nothing that an answer sends is unpickled."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor

# What a probe saw on each case, and the error that ended a case.
Record: TypeAlias = dict[str, Any]
Sizes = Mapping[str, int]  # of a case

MOST_NUMBERS = 20_000


class TooLarge(ValueError):
    """A value with more elements than any correct answer has."""


def encode(value: Any) -> Any:
    """A value as JSON; tensors as dtype, shape and numbers."""
    if isinstance(value, Tensor):
        if value.numel() > MOST_NUMBERS:
            raise TooLarge(f"a tensor of shape {tuple(value.shape)}")
        flat = value.detach().cpu()
        numbers = flat.double() if flat.is_floating_point() else flat.long()
        dtype = str(value.dtype).removeprefix("torch.")
        return {"dtype": dtype, "shape": list(value.shape), "data": numbers.flatten().tolist()}
    if isinstance(value, dict):
        return {"items": [[encode(k), encode(v)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return [encode(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value[:2000] if isinstance(value, str) else value
    return {"other": type(value).__name__}


def decode(value: Any) -> Any:
    """The value again; lists become tuples, unknown objects their type's name."""
    if isinstance(value, list):
        return tuple(decode(v) for v in value)
    if isinstance(value, dict) and "shape" in value:
        dtype = getattr(torch, str(value["dtype"]), torch.float64)
        numbers = torch.tensor(value["data"], dtype=torch.float64)
        exact = numbers if dtype.is_floating_point else numbers.to(dtype)
        return Typed(exact.reshape(value["shape"]), str(value["dtype"]))
    if isinstance(value, dict) and "items" in value:
        return {decode(k): decode(v) for k, v in value["items"]}
    if isinstance(value, dict):
        return f"<{value.get('other', 'object')}>"
    return value


HUGE = 1e8


class Typed:
    """A tensor in float64 (or its integers) with the dtype that it had in the answer."""

    def __init__(self, tensor: Tensor, dtype: str) -> None:
        self.tensor, self.dtype = tensor, dtype

    @property
    def kind(self) -> str:
        """`float`, `bool` or `int`: float32 and float64 are the same kind."""
        if self.dtype == "bool":
            return "bool"
        return "float" if "float" in self.dtype else "int"

    @property
    def is_blurred(self) -> bool:
        """Whether an element is not a number, or so large that -1e9 and -inf hide the rest."""
        if not self.tensor.is_floating_point():
            return False
        return bool((self.tensor.isnan() | (self.tensor.abs() > HUGE)).any())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Typed) and torch.equal(self.tensor, other.tensor)

    __hash__ = None  # type: ignore[assignment]


def is_number(value: Any) -> bool:
    """A number, and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def close(actual: float, expected: float) -> bool:
    """Equal up to rounding; NaN equals NaN."""
    if math.isnan(expected) or math.isinf(expected):
        return str(float(actual)) == str(float(expected))
    return abs(actual - expected) <= 1e-5 + 1e-4 * abs(expected)
