"""What an operation is for, in the words of the paper."""

import re
from collections.abc import Callable

from clearhead.explain.tracer.axis import LENGTHS, Axis, Shape, joined
from clearhead.explain.tracer.call import Call
from clearhead.explain.tracer.rows import Operand

Ins = list[Operand]
Outs = list[Shape]

_ROLES = [
    (re.compile(r"^(w_?q|q_proj|query|to_q|wq|q)$", re.IGNORECASE), "project Q"),
    (re.compile(r"^(w_?k|k_proj|key|to_k|wk|k)$", re.IGNORECASE), "project K"),
    (re.compile(r"^(w_?v|v_proj|value|to_v|wv|v)$", re.IGNORECASE), "project V"),
    (
        re.compile(r"^(w_?o|o_proj|out_proj|to_out|wo|o|fc_out)$", re.IGNORECASE),
        "project the heads",
    ),
]
_PLAIN = {
    "masked_fill": "mask", "relu": "ReLU: keep what is positive", "gelu": "GELU", "silu": "SiLU",
    "dropout": "dropout", "sub": "subtract", "pow": "power", "neg": "negate", "sqrt": "square root",
    "exp": "exponential", "tanh": "tanh", "sigmoid": "sigmoid", "layer_norm": "layer norm",
    "unsqueeze": "add an axis of 1", "squeeze": "drop the axes of 1", "expand": "stretch",
    "tril": "keep the lower triangle", "triu": "keep the upper triangle", "eq": "compare",
    "ne": "compare", "gt": "compare", "lt": "compare", "invert": "not", "and": "both",
    "arange": "count", "float": "as float", "long": "as whole numbers", "bool": "as boolean",
    "to": "as another type", "sin": "sine", "cos": "cosine",
    "contiguous": "copy into reading order",
    "cat": "put end to end", "stack": "put side by side", "setitem": "write into a part",
    "scaled_dot_product_attention": "attention (one fused operation)", "getitem": "take a part",
}  # fmt: skip


def describe(call: Call, ins: Ins, outs: Outs) -> str:
    """A few words; the operation's own name where there are none."""
    tell = _TELLERS.get(call.name)
    told = tell(call, ins, outs) if tell and outs and ins else ""
    return told or _PLAIN.get(call.name, call.name)


def _linear(call: Call, ins: Ins, outs: Outs) -> str:
    leaf = call.path.rpartition(".")[2]
    for pattern, role in _ROLES:
        if pattern.match(leaf):
            return role
    into, out_of = outs[0][-1].label, ins[0].shape[-1].label
    if into == "d_ff":
        return "widen to d_ff"
    if into == "vocab":
        return "score every word"
    return f"narrow to {into}" if out_of == "d_ff" else f"linear map {out_of} → {into}"


def _matmul(call: Call, ins: Ins, outs: Outs) -> str:
    if len(ins) < 2 or len(outs[0]) < 2:
        return "matrix product"
    inner, last = ins[0].shape[-1].label, outs[0][-1].label
    if inner in LENGTHS:
        return "weights × V"
    return "QKᵀ" if last in LENGTHS else f"matrix product over {inner}"


def _view(call: Call, ins: Ins, outs: Outs) -> str:
    old, new = ins[0].shape, outs[0]
    gone = [axis for axis in old if axis.label not in {a.label for a in new}]
    came = [axis for axis in new if axis.label not in {a.label for a in old}]
    if len(gone) == 1 and gone[0].label == joined(came):
        return f"take {' and '.join(axis.label for axis in came)} apart"
    if len(gone) == 1 and len(came) > 1:
        heads = "split heads: " if "h" in {a.label for a in came} else "split "
        return f"{heads}{gone[0].label} → {joined(came)}"
    if len(came) == 1 and len(gone) > 1:
        if came[0].label == joined(gone):
            return f"merge {' and '.join(axis.label for axis in gone)}"
        heads = "join heads: " if "h" in {a.label for a in gone} else "merge "
        return f"{heads}{joined(gone)} → {came[0].label}"
    if gone and came:
        words = (", ".join(axis.label for axis in axes) for axes in (gone, came))
        return f"read {' as '.join(words)}"
    return "same numbers, other axes"


def _transpose(call: Call, ins: Ins, outs: Outs) -> str:
    pairs = zip(ins[0].shape, outs[0], strict=False)
    moved = list(dict.fromkeys(a.label for a, b in pairs if a is not b))
    if len(moved) == 2:
        return f"swap {moved[0]} and {moved[1]}"
    return f"order {', '.join(a.label for a in outs[0])}" if moved else "swap equal axes"


def _over(verb: str) -> Callable[[Call, Ins, Outs], str]:
    def tell(call: Call, ins: Ins, outs: Outs) -> str:
        axes = ins[0].shape
        dim = call.argument(2 if call.name == "norm" else 1, "dim", call.kwargs.get("axis"))
        if not isinstance(dim, int) or not axes:
            return f"{verb} of everything" if dim is None else verb
        return f"{verb} over {axes[dim].label}"

    return tell


def _add(call: Call, ins: Ins, outs: Outs) -> str:
    if len(ins) == 1:
        return "add a number"
    if "pos" in call.path.lower().rpartition(".")[2] or "pe" in _words(ins[1].label):
        return "add position"
    if len(ins[0].shape) == len(ins[1].shape) > 2 and not ins[1].shape[-1].stretches:
        return "add what the sublayer says (residual)" if "residual" in call.path else "add"
    return "add"


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]+", text))


def _by_number(sign: str) -> Callable[[Call, Ins, Outs], str]:
    def tell(call: Call, ins: Ins, outs: Outs) -> str:
        number = next((a for a in call.args if isinstance(a, int | float)), None)
        if len(ins) == 1 and number is not None:
            return f"scale {sign} {number:.4g}{_root(call, ins[0].shape, number)}"
        return "multiply" if sign == "×" else "divide"

    return tell


def _root(call: Call, shape: Shape, number: float) -> str:
    """` = √d_k`, where the number is the root of a width that is at hand."""
    widths = {axis.label: axis.size for axis in shape if axis.label not in LENGTHS | {"batch"}}
    widths |= {"d_k": call.sizes.value("d_k") or 0}
    for name, size in widths.items():
        if size > 1 and abs(number**2 - size) < 1e-6 * size:
            return f" = √{name}"
        if size > 1 and abs(number**2 * size - 1) < 1e-6:
            return f" = 1/√{name}"
    return ""


def _embedding(call: Call, ins: Ins, outs: Outs) -> str:
    return "look up the rows of the ids"


def _slice(call: Call, ins: Ins, outs: Outs) -> str:
    cut = [_cut(a, b) for a, b in zip(ins[0].shape, outs[0], strict=False) if a.size != b.size]
    same = len(ins[0].shape) == len(outs[0])
    return f"slice {', '.join(cut)}" if cut and same else "take a part"


def _cut(a: Axis, b: Axis) -> str:
    return f"{a.label} to {b.label}"


_TELLERS: dict[str, Callable[[Call, Ins, Outs], str]] = {
    "linear": _linear, "matmul": _matmul, "bmm": _matmul, "mm": _matmul, "view": _view,
    "reshape": _view, "flatten": _view, "unflatten": _view, "transpose": _transpose,
    "swapaxes": _transpose, "permute": _transpose, "mT": _transpose, "T": _transpose,
    "softmax": _over("softmax"), "log_softmax": _over("log-softmax"), "mean": _over("mean"),
    "std": _over("standard deviation"), "var": _over("variance"), "sum": _over("sum"),
    "max": _over("maximum"), "argmax": _over("place of the maximum"), "add": _add,
    "mul": _by_number("×"), "rmul": _by_number("×"), "div": _by_number("÷"),
    "embedding": _embedding, "getitem": _slice,
}  # fmt: skip
