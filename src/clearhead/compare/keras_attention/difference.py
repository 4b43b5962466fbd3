"""A convention in which Keras, torch.nn and clearhead differ, and the layers to demonstrate it."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention.conversion import to_keras, to_torch
from clearhead.compare.proofs import fixtures
from clearhead.compare.timing import load_keras
from clearhead.errors import UserError

BATCH, H, QUERY, KEY = fixtures.BATCH, fixtures.HEADS, fixtures.QUERY, fixtures.KEY
D_K, D_MODEL = fixtures.D_K, fixtures.D_MODEL
AXES = {BATCH: "batch", H: "h", QUERY: "query", KEY: "key", D_K: "d_k", D_MODEL: "d_model",
        3 * D_MODEL: "3 · d_model", BATCH * H: "batch · h", 1: "1"}  # fmt: skip
REFUSALS = (ValueError, TypeError, AssertionError, RuntimeError, UserError)


@dataclass(frozen=True)
class Difference:
    """One row of the table: what each library did; `so` is the practical consequence."""

    topic: str
    keras: str
    torch: str
    clearhead: str
    so: str

    @classmethod
    def of(cls, topic: str, cells: Iterable[str], so: str) -> Self:
        """From the cells of Keras, torch and clearhead, in this order."""
        in_keras, in_torch, in_ours = cells
        return cls(topic, in_keras, in_torch, in_ours, so)


@dataclass(frozen=True)
class Layers:
    """The same weights in all three libraries, in float32."""

    keras: Any
    torch: nn.MultiheadAttention
    ours: MultiHeadAttentionBlock


def keras_layer(heads: int, key_dim: int) -> Any:
    """A new layer of Keras; it has no weights before its first input."""
    return load_keras().layers.MultiHeadAttention(heads, key_dim)


def equal_layers(dropout: float = 0.0, bias: bool = True) -> Layers:
    """Random weights and biases."""
    ours = MultiHeadAttentionBlock(D_MODEL, H, dropout, bias=bias)
    return Layers(to_keras(ours), to_torch(ours), ours)


def new_torch_and_ours() -> tuple[nn.MultiheadAttention, MultiHeadAttentionBlock]:
    """Default layers, each with its own initialization."""
    return nn.MultiheadAttention(D_MODEL, H), MultiHeadAttentionBlock(D_MODEL, H, 0.0)


def inputs() -> list[Tensor]:
    """(batch, query, d_model), 2 × (batch, key, d_model)."""
    return fixtures.queries_keys_values(torch.float32)


def named(tensor: Any) -> str:
    """A shape with the names of its axes: (batch, query, d_model)."""
    return f"({', '.join(AXES.get(int(size), str(int(size))) for size in tensor.shape)})"


def outcome(attempt: Callable[[], Any]) -> str:
    """Whether the call is accepted."""
    try:
        attempt()
    except REFUSALS as error:
        return f"refused ({type(error).__name__})"
    return "accepted"


def default(function: Callable[..., Any], name: str) -> str:
    """`name=value`, as in the signature."""
    value = inspect.signature(function).parameters[name].default
    return f"{name} is required" if value is inspect.Parameter.empty else f"{name}={value}"


def close(one: Tensor, other: Tensor) -> bool:
    """Equal up to rounding in float32; False for NaN."""
    return one.shape == other.shape and bool(((one - other).abs() <= 1e-5).all())
