"""What an operation costs: parameters, the arithmetic of products, memory."""

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch.utils.flop_counter import conv_flop_count, sdpa_flop_count

_INNER = {"matmul", "rmatmul", "bmm", "mm", "mv", "dot", "linear", "inner"}
_RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}


def parameters(tensors: Sequence[Tensor]) -> int:
    """Learned numbers among the arguments."""
    return sum(t.numel() for t in {id(t): t for t in tensors}.values() if is_parameter(t))


def is_parameter(tensor: Tensor) -> bool:
    """True for what a module has registered as learned."""
    return isinstance(tensor, nn.Parameter)


def products(name: str, args: Sequence[Any], tensors: Sequence[Tensor], result: Tensor) -> int:
    """Multiply-adds of products, each counted as two, as `torch.utils.flop_counter` does."""
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if name in _INNER and shapes[0]:
        return 2 * result.numel() * shapes[0][-1]
    if name in ("addmm", "baddbmm") and len(shapes) > 1:
        return 2 * result.numel() * shapes[1][-1]
    if name == "scaled_dot_product_attention":
        # Grouped queries share their keys; their arithmetic is that of full heads.
        q, k, v = shapes[:3]
        return int(sdpa_flop_count(q, (*q[:-2], *k[-2:]), (*q[:-2], *v[-2:]))) if len(q) == 4 else 0
    if name == "einsum" and isinstance(args[0], str):
        return _einsum(args[0], shapes)
    if name in ("conv1d", "conv2d", "conv3d"):
        return int(conv_flop_count(list(shapes[0]), list(shapes[1]), list(result.shape)))
    if name in _RECURRENT:  # every step multiplies by every matrix once
        matrices = [t for t in tensors if is_parameter(t) and t.dim() == 2]
        return 2 * (math.prod(shapes[0][:-1])) * sum(matrix.numel() for matrix in matrices)
    return 0


def _einsum(equation: str, shapes: Sequence[tuple[int, ...]]) -> int:
    """Two factors after two, from the left; with three dots for axes that nobody names."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    terms = [_opened(term, shape) for term, shape in zip(inputs.split(","), shapes, strict=False)]
    size: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=False):
        for letter, number in zip(term, shape, strict=True):
            size[letter] = max(number, size.get(letter, 1))
    wanted = set(output) | {letter for letter in size if letter.isdigit()}
    total, left = 0, set(terms[0])
    for i, term in enumerate(terms[1:], start=2):
        both = left | set(term)
        total += 2 * math.prod(size[letter] for letter in both)
        left = both & wanted.union(*terms[i:])
    return total


def _opened(term: str, shape: tuple[int, ...]) -> list[str]:
    """The letters of a factor; for three dots the numbers of its axes, counted from the right."""
    before, dots, after = term.partition("...")
    count = len(shape) - len(before) - len(after) if dots else 0
    return [*before, *(str(i) for i in reversed(range(count))), *after]


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
