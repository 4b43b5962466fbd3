"""Arithmetic outside of products, counted exactly: one for every number that is computed.

A sum, a difference, a product of two numbers is one floating-point operation, and so is a
function of one number (exp, sqrt, tanh, …) and the choice of the larger of two. What moves,
compares or picks numbers computes none, nor does arithmetic on ids. So the softmax of n numbers
takes 5n - 2: n - 1 for the largest, n each to subtract it, to exponentiate and to divide,
n - 1 for the sum. torch's own counter leaves all of this out.
"""

import math
from collections.abc import Callable, Sequence

from torch import Tensor, nn

Tensors = Sequence[Tensor]
Count = Callable[[Tensors, Tensor], int]

_EACH = dict.fromkeys(
    (
        "add", "sub", "subtract", "rsub", "mul", "multiply", "rmul", "div", "rdiv", "divide",
        "true_divide", "floordiv", "pow", "rpow", "neg", "abs", "square", "sqrt", "rsqrt", "exp",
        "log", "sin", "cos", "tanh", "sigmoid", "relu", "erf", "reciprocal", "maximum", "minimum",
        "clamp_min", "clamp_max", "cumsum", "remainder", "outer", "leaky_relu", "log1p", "expm1",
    ),
    1,
) | {"gelu": 5, "silu": 2, "clamp": 2, "softplus": 3, "elu": 2, "dropout": 2}  # fmt: skip
# For a number that goes in, and for one that comes out of its row.
_REDUCED = {
    "sum": (1, -1), "mean": (1, 0), "prod": (1, -1), "max": (1, -1), "amax": (1, -1),
    "argmax": (1, -1), "min": (1, -1), "amin": (1, -1), "argmin": (1, -1), "var": (4, 0),
    "std": (4, 1), "norm": (2, 0), "vector_norm": (2, 0), "logsumexp": (4, 0),
}  # fmt: skip
_NORMALIZED = {"softmax": (5, -2), "log_softmax": (5, -1)}  # for a number, and for a row


def elementwise(name: str, dim: object, tensors: Tensors, result: Tensor) -> int:
    """Operations that one call takes beside its matrix products; on ids and booleans none.

    `dim` is the axis that the call names, if it names one.
    """
    if not tensors or not tensors[0].is_floating_point():
        floating = result.is_floating_point() and name in _EACH
        return _EACH[name] * result.numel() if floating else 0
    if name in ("max", "min") and len(tensors) > 1:  # of two tensors, place by place
        return result.numel()
    if name in _REDUCED:
        each, row = _REDUCED[name]
        return each * tensors[0].numel() + row * result.numel()
    if name in _NORMALIZED:
        each, row = _NORMALIZED[name]
        length = result.shape[dim] if isinstance(dim, int) and result.dim() else 1
        return each * result.numel() + row * (result.numel() // max(1, length))
    if name in _BESIDE_A_PRODUCT:
        return _BESIDE_A_PRODUCT[name](tensors, result)
    return _EACH.get(name, 0) * result.numel() if result.is_floating_point() else 0


def _layer_norm(ins: Tensors, out: Tensor) -> int:
    """Mean n, minus n, squares n, their mean n, by the root n; + eps and √; gain n, bias n."""
    features = math.prod(ins[1].shape) if len(ins) > 1 else out.shape[-1]
    return (5 + len(ins[1:])) * out.numel() + 2 * (out.numel() // max(1, features))


def _bias(ins: Tensors, out: Tensor) -> int:
    return out.numel() if len(ins) > 2 else 0


def _fused_attention(ins: Tensors, out: Tensor) -> int:
    """Of every score: its scale, its softmax, and a mask that is added."""
    rows, keys = math.prod(ins[0].shape[:-1]), ins[1].shape[-2]
    added = len(ins) > 3 and ins[3].is_floating_point()
    return (1 + 5 + added) * rows * keys - 2 * rows


def _recurrent(gates: int, formula: int) -> Count:
    """Biases and gates; `formula` is what one cell takes in one step beside its biases."""

    def count(ins: Tensors, out: Tensor) -> int:
        steps = ins[0].numel() // ins[0].shape[-1]
        kernels = [w for w in ins if isinstance(w, nn.Parameter) and w.dim() == 2]
        biases = sum(w.numel() for w in ins if isinstance(w, nn.Parameter) and w.dim() == 1)
        high = kernels[0].shape[0]  # gates · hidden, once for the input and once for the state
        cells = sum(high for w in kernels if w.shape[0] == high) // (2 * gates)
        return steps * (formula * cells + biases)

    return count


_BESIDE_A_PRODUCT: dict[str, Count] = {
    "layer_norm": _layer_norm, "linear": _bias, "addmm": lambda ins, out: out.numel(),
    "baddbmm": lambda ins, out: out.numel(), "scaled_dot_product_attention": _fused_attention,
    "conv1d": _bias, "conv2d": _bias, "conv3d": _bias, "lstm": _recurrent(4, 13),
    "gru": _recurrent(3, 11), "rnn_tanh": _recurrent(1, 2), "rnn_relu": _recurrent(1, 2),
}  # fmt: skip
