"""What an operation costs: parameters, FLOPs and memory.

Matrix products are counted as in `torch.utils.flop_counter`, which leaves out all other
arithmetic. That is counted here as one operation for each element that is computed: a sum, a
difference or a product of two elements, a function of one element (exp, sqrt, tanh …), the
larger of two. Moving, comparing and indexing count as none, nor does arithmetic on ids. So the
softmax of n elements takes 5n - 2: n - 1 for the maximum, n each to subtract it, to exponentiate
and to divide, n - 1 for the sum.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.utils.flop_counter import conv_flop_count

Tensors = Sequence[Tensor]
Count = Callable[[Tensors, Tensor], int]

_INNER = {"matmul", "rmatmul", "bmm", "mm", "mv", "dot", "linear", "inner"}
_RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
_EACH = dict.fromkeys(
    (
        "add", "sub", "subtract", "rsub", "mul", "multiply", "rmul", "div", "rdiv", "divide",
        "true_divide", "floordiv", "pow", "rpow", "neg", "abs", "square", "sqrt", "rsqrt", "exp",
        "log", "sin", "cos", "tanh", "sigmoid", "relu", "erf", "reciprocal", "maximum", "minimum",
        "clamp_min", "clamp_max", "cumsum", "remainder", "outer", "leaky_relu", "log1p", "expm1",
        "exp2", "log2", "log10", "prelu",
    ),
    1,
) | {
    "gelu": 5, "silu": 2, "clamp": 2, "softplus": 3, "elu": 2, "dropout": 2, "glu": 2, "relu6": 2,
    "mish": 5, "hardswish": 5,
}  # fmt: skip
# Operations for each input element, and for each output element.
_REDUCED = {
    "sum": (1, -1), "mean": (1, 0), "prod": (1, -1), "max": (1, -1), "amax": (1, -1),
    "argmax": (1, -1), "min": (1, -1), "amin": (1, -1), "argmin": (1, -1), "var": (4, 0),
    "std": (4, 1), "norm": (2, 0), "vector_norm": (2, 0), "logsumexp": (4, 0),
}  # fmt: skip
_NORMALIZED = {"softmax": (5, -2), "log_softmax": (5, -1)}  # for each element, and for each row


def products(name: str, args: Sequence[Any], tensors: Tensors, result: Tensor) -> int:
    """FLOPs of matrix products; a multiply-add counts as two."""
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if name in _INNER and shapes[0]:
        return 2 * result.numel() * shapes[0][-1]
    if name in ("addmm", "baddbmm") and len(shapes) > 1:
        return 2 * result.numel() * shapes[1][-1]
    if name == "scaled_dot_product_attention":
        # q kᵀ and weights · v. Grouped queries share keys; the arithmetic is that of full heads.
        q, k, v = shapes[:3]
        return 2 * math.prod(result.shape[:-1]) * k[-2] * (q[-1] + v[-1])
    if name == "einsum" and isinstance(args[0], str):
        return _einsum(args[0], shapes)
    if name in ("conv1d", "conv2d", "conv3d"):
        return int(conv_flop_count(list(shapes[0]), list(shapes[1]), list(result.shape)))
    if name in _RECURRENT:  # every step multiplies by every matrix once
        matrices = [t for t in tensors if isinstance(t, nn.Parameter) and t.dim() == 2]
        return 2 * (math.prod(shapes[0][:-1])) * sum(matrix.numel() for matrix in matrices)
    return 0


def _einsum(equation: str, shapes: Sequence[tuple[int, ...]]) -> int:
    """Factors are multiplied from the left, two at a time; an ellipsis is allowed."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    terms = [_letters(term, shape) for term, shape in zip(inputs.split(","), shapes, strict=False)]
    size: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=False):
        for letter, length in zip(term, shape, strict=True):
            size[letter] = max(length, size.get(letter, 1))
    wanted = set(output) | {letter for letter in size if letter.isdigit()}
    total, left = 0, set(terms[0])
    for i, term in enumerate(terms[1:], start=2):
        both = left | set(term)
        total += 2 * math.prod(size[letter] for letter in both)
        left = both & wanted.union(*terms[i:])
    return total


def _letters(term: str, shape: tuple[int, ...]) -> list[str]:
    """The letters of a factor; an ellipsis becomes digits, counted from the right."""
    before, dots, after = term.partition("...")
    count = len(shape) - len(before) - len(after) if dots else 0
    return [*before, *(str(i) for i in reversed(range(count))), *after]


def elementwise(name: str, dim: object, tensors: Tensors, result: Tensor) -> int:
    """FLOPs beside matrix products; none for ids and booleans. `dim` is the call's argument."""
    if not tensors or not tensors[0].is_floating_point():
        floating = result.is_floating_point() and name in _EACH
        return _EACH[name] * result.numel() if floating else 0
    if name in ("max", "min") and len(tensors) > 1:  # elementwise, of two tensors
        return result.numel()
    if name == "batch_norm":  # `dim` is its `training`: if true, also mean, squares, their mean
        each = (5 if dim else 2) + sum(isinstance(t, nn.Parameter) for t in tensors)
        return each * result.numel() + 2 * result.shape[1]
    if name in _REDUCED:
        each, row = _REDUCED[name]
        return each * tensors[0].numel() + row * result.numel()
    if name in _NORMALIZED:
        each, row = _NORMALIZED[name]
        length = result.shape[dim] if isinstance(dim, int) and result.dim() else 1
        return each * result.numel() + row * (result.numel() // max(1, length))
    if name in _COUNTS:
        return _COUNTS[name](tensors, result)
    return _EACH.get(name, 0) * result.numel() if result.is_floating_point() else 0


def _norm(each: int, ins: Tensors, out: Tensor) -> int:
    """`each`: 3 for squares, their mean and division; 5 for a layer norm, which centres first.

    For each vector + eps and √; for each element also gain and bias.
    """
    features = math.prod(ins[1].shape) if len(ins) > 1 else out.shape[-1]
    return (each + len(ins[1:])) * out.numel() + 2 * (out.numel() // max(1, features))


def _bias(ins: Tensors, out: Tensor) -> int:
    return out.numel() if len(ins) > 2 else 0


def _fused_attention(ins: Tensors, out: Tensor) -> int:
    """For each score: its scale, its softmax, and an additive mask."""
    rows, keys = math.prod(ins[0].shape[:-1]), ins[1].shape[-2]
    added = len(ins) > 3 and ins[3].is_floating_point()
    return (1 + 5 + added) * rows * keys - 2 * rows


def _recurrent(gates: int, formula: int) -> Count:
    """Biases and gates; `formula` is what one cell takes in one step beside its biases."""

    def count(ins: Tensors, out: Tensor) -> int:
        steps = ins[0].numel() // ins[0].shape[-1]
        learned = [w for w in ins if isinstance(w, nn.Parameter)]
        kernels = [w for w in learned if w.dim() == 2]
        biases = sum(w.numel() for w in learned if w.dim() == 1)
        high = kernels[0].shape[0]  # gates · hidden, once for the input and once for the state
        cells = sum(high for w in kernels if w.shape[0] == high) // (2 * gates)
        return steps * (formula * cells + biases)

    return count


_COUNTS: dict[str, Count] = {
    "layer_norm": partial(_norm, 5), "rms_norm": partial(_norm, 3), "linear": _bias,
    "addmm": lambda ins, out: out.numel(),
    "baddbmm": lambda ins, out: out.numel(), "scaled_dot_product_attention": _fused_attention,
    "conv1d": _bias, "conv2d": _bias, "conv3d": _bias, "lstm": _recurrent(4, 13),
    "gru": _recurrent(3, 11), "rnn_tanh": _recurrent(1, 2), "rnn_relu": _recurrent(1, 2),
}  # fmt: skip


def memory(result: Tensor, tensors: Tensors) -> int:
    """Bytes of the result; 0 if it shares the memory of an input."""
    own = _storage(result)
    if own is not None and any(_storage(tensor) == own for tensor in tensors):
        return 0
    return result.numel() * result.element_size()


def _storage(tensor: Tensor) -> int | None:
    """An identifier of the tensor's memory; None inside a `vmap`, which does not reveal it."""
    try:
        return tensor.untyped_storage()._cdata
    except NotImplementedError:
        return None
