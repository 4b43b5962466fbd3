"""What an operation costs: parameters, arithmetic, memory."""

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch.utils.flop_counter import conv_flop_count, sdpa_flop_count

_INNER = {"matmul", "rmatmul", "bmm", "mm", "mv", "dot", "linear"}


def parameters(tensors: Sequence[Tensor]) -> int:
    """Learned numbers among the arguments."""
    return sum(t.numel() for t in {id(t): t for t in tensors}.values() if is_parameter(t))


def is_parameter(tensor: Tensor) -> bool:
    """True for what a module has registered as learned."""
    return isinstance(tensor, nn.Parameter)


def flops(name: str, args: Sequence[Any], tensors: Sequence[Tensor], result: Tensor) -> int:
    """Multiply-adds of products, each counted as two; whatever is no product costs 0."""
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if name in _INNER and shapes[0]:
        return 2 * result.numel() * shapes[0][-1]
    if name in ("addmm", "baddbmm") and len(shapes) > 1:
        return 2 * result.numel() * shapes[1][-1]
    if name == "scaled_dot_product_attention":
        # Grouped queries share their keys; their arithmetic is that of full heads.
        q, k, v = shapes[:3]
        return int(sdpa_flop_count(q, (*q[:-2], *k[-2:]), (*q[:-2], *v[-2:]))) if len(q) == 4 else 0
    if name == "einsum":
        return _einsum(str(args[0]), shapes)
    if name in ("conv1d", "conv2d", "conv3d"):
        return int(conv_flop_count(list(shapes[0]), list(shapes[1]), list(result.shape)))
    return 0


def _einsum(equation: str, shapes: Sequence[tuple[int, ...]]) -> int:
    inputs = equation.replace(" ", "").split("->")[0].split(",")
    if len(inputs) != 2 or "." in equation:
        return 0
    size = {
        letter: number
        for letters, shape in zip(inputs, shapes, strict=False)
        for letter, number in zip(letters, shape, strict=False)
    }
    return 2 * math.prod(size.values())


def memory(result: Tensor, tensors: Sequence[Tensor]) -> int:
    """Bytes that the result takes; none if it lies in the memory of an input."""
    own = _storage(result)
    if own is not None and any(_storage(tensor) == own for tensor in tensors):
        return 0
    return result.numel() * result.element_size()


def _storage(tensor: Tensor) -> int | None:
    """Which piece of memory it is; the tensors inside a `vmap` do not tell."""
    try:
        return tensor.untyped_storage()._cdata
    except NotImplementedError:
        return None
