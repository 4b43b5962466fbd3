"""A habit in which the three differ, and the three attentions that the habits are tried on."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention.conversion import to_keras, to_torch
from clearhead.errors import UserError

# Every size another, so that a shape names its axes.
BATCH, H, QUERY, KEY, D_K = 3, 4, 5, 6, 7
D_MODEL = H * D_K
AXES = {BATCH: "batch", H: "h", QUERY: "query", KEY: "key", D_K: "d_k", D_MODEL: "d_model",
        3 * D_MODEL: "3 · d_model", BATCH * H: "batch · h", 1: "1"}  # fmt: skip
REFUSALS = (ValueError, TypeError, AssertionError, RuntimeError, UserError)


@dataclass(frozen=True)
class Difference:
    """One row: what each of the three did when it was tried; `so` is what to do about it."""

    topic: str
    keras: str
    torch: str
    clearhead: str
    so: str

    @classmethod
    def of(cls, topic: str, cells: Iterable[str], so: str) -> Self:
        """From the cells of Keras, torch and ours, in this order."""
        in_keras, in_torch, in_ours = cells
        return cls(topic, in_keras, in_torch, in_ours, so)


@dataclass(frozen=True)
class Three:
    """The same weights three times, in float32."""

    keras: Any
    torch: nn.MultiheadAttention
    ours: MultiHeadAttentionBlock


def three(dropout: float = 0.0, bias: bool = True) -> Three:
    """Random weights; biases, too."""
    ours = MultiHeadAttentionBlock(D_MODEL, H, dropout, bias=bias)
    return Three(to_keras(ours), to_torch(ours), ours)


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    """(batch, query, d_model), and twice (batch, key, d_model)."""
    return (
        torch.randn(BATCH, QUERY, D_MODEL),
        torch.randn(BATCH, KEY, D_MODEL),
        torch.randn(BATCH, KEY, D_MODEL),
    )


def named(tensor: Any) -> str:
    """Its shape in axes: (batch, query, d_model)."""
    return f"({', '.join(AXES.get(int(size), str(int(size))) for size in tensor.shape)})"


def answer(attempt: Callable[[], Any]) -> str:
    """Whether it is taken."""
    try:
        attempt()
    except REFUSALS as error:
        return f"refused ({type(error).__name__})"
    return "accepted"


def default(function: Callable[..., Any], name: str) -> str:
    """`name=value`, as the signature has it."""
    value = inspect.signature(function).parameters[name].default
    return f"{name} is required" if value is inspect.Parameter.empty else f"{name}={value}"


def close(one: Tensor, other: Tensor) -> bool:
    """The same but for rounding in float32; NaN is close to nothing."""
    return one.shape == other.shape and bool(((one - other).abs() <= 1e-5).all())
