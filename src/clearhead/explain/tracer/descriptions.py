"""What an operation does, in the paper's terms, and its formula."""

import re
from collections.abc import Callable

from clearhead.explain.tracer.axes import LENGTHS, Shape
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.rows import Operand

Ins = list[Operand]
Outs = list[Shape]
Describe = Callable[[Call, Ins, Outs], str]

_ROLES = {
    "w_?q|q_proj|query|to_q|q": "project Q",
    "w_?k|k_proj|key|to_k|k": "project K",
    "w_?v|v_proj|value|to_v|v": "project V",
    "w_?o|o_proj|out_proj|to_out|o|fc_out": "output projection",
}
# The name of a module for positions; `pos_ffn` and `post_norm` are none.
_POSITIONS = re.compile(r"pos(?!t|.*(wise|ffn|feed))", re.IGNORECASE)
_FIXED = {
    "masked_fill": "mask", "relu": "ReLU", "gelu": "GELU", "silu": "SiLU", "sub": "subtract",
    "pow": "power", "neg": "negate", "sqrt": "square root", "exp": "exponential",
    "layer_norm": "layer norm", "unsqueeze": "add an axis of size 1",
    "squeeze": "drop axes of size 1",
    "expand": "broadcast", "tril": "lower triangle", "triu": "upper triangle", "eq": "compare",
    "ne": "compare", "gt": "compare", "lt": "compare", "invert": "logical not",
    "and": "logical and", "arange": "range of integers", "float": "convert to float",
    "long": "convert to integer", "bool": "convert to boolean", "to": "convert", "sin": "sine",
    "cos": "cosine", "contiguous": "copy to contiguous memory", "cat": "concatenate",
    "setitem": "assign to a slice", "getitem": "index",
    "scaled_dot_product_attention": "attention (one fused operation)",
}  # fmt: skip


def describe(call: Call, ins: Ins, outs: Outs) -> str:
    """A few words; the operation's own name if there are none."""
    special = _DESCRIPTIONS.get(call.name)
    words = special(call, ins, outs) if special and outs and ins else ""
    return words or _FIXED.get(call.name, call.name)


def _linear(call: Call, ins: Ins, outs: Outs) -> str:
    leaf = call.path.rpartition(".")[2]
    for pattern, role in _ROLES.items():
        if re.fullmatch(pattern, leaf, re.IGNORECASE):
            return role
    into, out_of = outs[0][-1].label, ins[0].shape[-1].label
    if into == "d_ff":
        return "expand to d_ff"
    if into == "vocab":
        return "project to the vocabulary"
    return f"project back to {into}" if out_of == "d_ff" else f"linear map {out_of} → {into}"


def _matmul(call: Call, ins: Ins, outs: Outs) -> str:
    if len(ins) < 2 or len(outs[0]) < 2:
        return "matrix product"
    inner, last = ins[0].shape[-1].label, outs[0][-1].label
    if inner in LENGTHS:
        return "weights × V"
    return "QKᵀ" if last in LENGTHS else f"matrix product over {inner}"


def _view(call: Call, ins: Ins, outs: Outs) -> str:
    old, new = ins[0].shape, outs[0]
    gone = [axis.label for axis in old if axis.label not in {a.label for a in new}]
    came = [axis.label for axis in new if axis.label not in {a.label for a in old}]
    before, after = "·".join(gone), "·".join(came)
    if len(gone) == 1 and before == after:
        return f"split {' and '.join(came)}"
    if len(gone) == 1 and len(came) > 1:
        return f"{'split heads: ' if 'h' in came else 'split '}{before} → {after}"
    if len(came) == 1 and before == after:
        return f"merge {' and '.join(gone)}"
    if len(came) == 1 and len(gone) > 1:
        return f"{'concatenate heads: ' if 'h' in gone else 'merge '}{before} → {after}"
    return f"reshape {', '.join(gone)} to {', '.join(came)}" if gone and came else "reshape"


def _transpose(call: Call, ins: Ins, outs: Outs) -> str:
    pairs = zip(ins[0].shape, outs[0], strict=False)
    moved = list(dict.fromkeys(a.label for a, b in pairs if a is not b))
    if len(moved) == 2:
        return f"transpose {moved[0]} and {moved[1]}"
    return f"permute to {', '.join(a.label for a in outs[0])}" if moved else "transpose equal axes"


def _over(reduction: str) -> Describe:
    def words(call: Call, ins: Ins, outs: Outs) -> str:
        axes, dim = ins[0].shape, call.dim()
        if not isinstance(dim, int) or not axes:
            return f"{reduction} over all elements" if dim is None else reduction
        return f"{reduction} over {axes[dim].label}"

    return words


def _add(call: Call, ins: Ins, outs: Outs) -> str:
    if len(ins) == 1:
        return "add a constant"
    identifiers = set(re.findall(r"[A-Za-z_]+", ins[1].label))
    if _POSITIONS.search(call.path.rpartition(".")[2]) or "pe" in identifiers:
        return "add positional encoding"
    if len(ins[0].shape) == len(ins[1].shape) > 2 and not ins[1].shape[-1].broadcasts:
        return "residual connection" if "residual" in call.path else "add"
    return "add"


def _by_constant(symbol: str) -> Describe:
    def words(call: Call, ins: Ins, outs: Outs) -> str:
        constant = next((a for a in call.args if isinstance(a, int | float)), None)
        if len(ins) == 1 and constant is not None:
            return f"scale {symbol} {constant:.4g}{_root(call, ins[0].shape, constant)}"
        return "multiply" if symbol == "×" else "divide"

    return words


def _root(call: Call, shape: Shape, number: float) -> str:
    """` = √d_k` if the number is the square root of the size of an axis."""
    others = LENGTHS | {"batch", "h"}  # h may equal d_k, and is never meant
    widths = {axis.label: axis.size for axis in shape if axis.label not in others}
    widths |= {"d_k": call.sizes.value("d_k") or 0}
    for name, size in widths.items():
        if size > 1 and abs(number**2 - size) < 1e-6 * size:
            return f" = √{name}"
        if size > 1 and abs(number**2 * size - 1) < 1e-6:
            return f" = 1/√{name}"
    return ""


def _slice(call: Call, ins: Ins, outs: Outs) -> str:
    pairs = zip(ins[0].shape, outs[0], strict=False)
    cut = [f"{a.label} to {b.label}" for a, b in pairs if a.size != b.size]
    same_rank = len(ins[0].shape) == len(outs[0])
    return f"slice {', '.join(cut)}" if cut and same_rank else "index"


_DESCRIPTIONS: dict[str, Describe] = {
    "linear": _linear, "matmul": _matmul, "bmm": _matmul, "mm": _matmul, "view": _view,
    "reshape": _view, "flatten": _view, "unflatten": _view, "transpose": _transpose,
    "swapaxes": _transpose, "permute": _transpose, "mT": _transpose, "T": _transpose,
    "softmax": _over("softmax"), "log_softmax": _over("log-softmax"), "mean": _over("mean"),
    "std": _over("standard deviation"), "var": _over("variance"), "sum": _over("sum"),
    "max": _over("maximum"), "argmax": _over("argmax"), "add": _add, "mul": _by_constant("×"),
    "rmul": _by_constant("×"), "div": _by_constant("÷"), "getitem": _slice,
    "embedding": lambda call, ins, outs: "look up embeddings",
}  # fmt: skip

# Fixed formulas; x is the input, y the output, n the size of the reduced axis.
_FORMULAS = {
    "embedding": "y[…, :] = W[id, :]", "addmm": "y = b + A·B", "baddbmm": "y = b + A·B",
    "masked_fill": "y = value where masked, else x", "relu": "y = max(0, x)",
    "gelu": "y = x·Φ(x)", "silu": "y = x·σ(x)", "sigmoid": "y = 1 / (1 + e⁻ˣ)",
    "tanh": "y = tanh x", "exp": "y = eˣ", "sqrt": "y = √x", "neg": "y = −x", "sin": "y = sin x",
    "cos": "y = cos x", "log": "y = ln x", "dropout": "y = x·m / (1 − p), m ~ Bernoulli(1 − p)",
    "layer_norm": "y = (x − mean(x)) / √(var(x) + ε) · γ + β", "unsqueeze": "y[…, 0, …] = x",
    "scaled_dot_product_attention": "y = softmax(Q·Kᵀ / √d_k + mask)·V",
    "tril": "y[i, j] = x[i, j] if j ≤ i, else 0", "triu": "y[i, j] = x[i, j] if j ≥ i, else 0",
    "cat": "y = [x₁; x₂; …]",
}  # fmt: skip
_OVER_AN_AXIS = {
    "softmax": "y[{a}] = exp(x[{a}]) / Σ_{a} exp(x)",
    "log_softmax": "y[{a}] = x[{a}] − ln Σ_{a} exp(x)", "mean": "y = Σ_{a} x / {a}",
    "sum": "y = Σ_{a} x", "var": "y = Σ_{a} (x − mean)² / {n}",
    "std": "y = √(Σ_{a} (x − mean)² / {n})", "max": "y = max_{a} x",
    "argmax": "y = argmax_{a} x",
}  # fmt: skip
_SYMBOLS = {"add": "+", "sub": "−", "mul": "·", "div": "/", "pow": "^"}


def formula(call: Call, ins: Ins, outs: Outs) -> str:
    """The formula of an operation with the names of its axes; "" for one that only moves data."""
    if not ins or not outs:
        return ""
    if call.name in _OVER_AN_AXIS:
        dim, axes = call.dim(), ins[0].shape
        axis = axes[dim].label if type(dim) is int and axes else "all"
        words = _OVER_AN_AXIS[call.name].replace("{a}", axis)
        return words.replace("{n}", _divisor(call, axis)) if "{n}" in words else words
    shapes = [operand.shape for operand in ins[:2]]
    if call.name in ("matmul", "bmm", "mm") and len(ins) > 1 and min(map(len, shapes)) > 1:
        a, b = shapes
        i, k, j = a[-2].label, a[-1].label, b[-1].label
        k, j = (f"{axis}′" if axis == i else axis for axis in (k, j))
        return f"y[{i}, {j}] = Σ_{k} A[{i}, {k}]·B[{k}, {j}]"
    if call.name == "linear":
        inner, bias = ins[0].shape[-1].label, " + b" if len(ins) > 2 else ""
        return f"y = x·Wᵀ{bias}, sum over {inner}"
    if call.name in _SYMBOLS:
        constant = next((a for a in call.args if type(a) in (int, float)), None)
        if call.name == "pow" and constant is not None and call.args[0] == constant:
            return f"y = {constant:.4g} ^ x"
        other = "x₂" if len(ins) > 1 else f"{constant:.4g}" if constant is not None else ""
        return f"y = {'x₁' if len(ins) > 1 else 'x'} {_SYMBOLS[call.name]} {other}" if other else ""
    return _FORMULAS.get(call.name, "")


def _divisor(call: Call, axis: str) -> str:
    """By what a variance divides: n − 1, or n where it is not corrected."""
    first, correction = call.argument(1, "dim"), call.kwargs.get("correction")
    unbiased = first if isinstance(first, bool) else call.argument(2, "unbiased", True)
    lost = int(unbiased) if correction is None else correction
    return f"({axis} − {lost})" if lost else axis
