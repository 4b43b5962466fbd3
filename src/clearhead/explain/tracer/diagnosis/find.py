"""Finds the mismatch behind an error of an operation, or of a check in a module of torch.nn."""

import traceback
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor

from clearhead.explain.tracer.axes import Axis, Shape, broadcast_axis, names
from clearhead.explain.tracer.call import Call, Lookup
from clearhead.explain.tracer.diagnosis.mismatch import FINDERS, Finder, Mismatch, unequal
from clearhead.explain.tracer.propagation.indexing import getitem
from clearhead.explain.tracer.rows import Operand

_FIXED_RANK = {"bmm": 3, "baddbmm": 3, "mm": 2}
_WIDTH = "a layer takes vectors of the width that it was built for, along the last axis"


def find(call: Call, inputs: Sequence[Operand], error: Exception) -> Mismatch | None:
    """The first two axes that do not fit, or None if the error is not about shapes."""
    shapes = [operand.shape for operand in inputs]
    if not shapes:
        return None
    if isinstance(error, IndexError) and "Dimension out of range" in str(error):
        return _missing_axis(call, shapes[0])
    return _rank(call, shapes) or _BY_OPERATION.get(call.name, broadcast)(call, shapes)


def _missing_axis(call: Call, shape: Shape) -> Mismatch | None:
    values = [value for value in (*call.args[1:], *call.kwargs.values()) if type(value) is int]
    requested = next((n for n in values if not -len(shape) <= n < len(shape)), None)
    if requested is None:
        return None
    wanted = Axis(requested, "axis", f"requested by {call.at}", certain=True)
    law = f"{len(shape)} axes are numbered 0 to {len(shape) - 1}, or -{len(shape)} to -1"
    return Mismatch("rank", _axes_of(shape), wanted, law)


def _rank(call: Call, shapes: list[Shape]) -> Mismatch | None:
    """Fewer or more axes than the operation takes."""
    if call.name == "permute":
        order = call.args[1] if isinstance(call.args[1], list | tuple) else call.args[1:]
        count, law = len(order), "permute lists every axis once"
    elif call.name in _FIXED_RANK:
        count = _FIXED_RANK[call.name]
        law = f"{call.name} takes tensors of exactly {count} axes; @ takes any number of them"
    else:
        return None
    shape = next((shape for shape in shapes if len(shape) != count), None)
    if shape is None:
        return None
    wanted = Axis(count, "axes of the call", f"{count} axes, as {call.at} takes", certain=True)
    return Mismatch("rank", _axes_of(shape), wanted, law)


def _axes_of(shape: Shape) -> Axis:
    return Axis(len(shape), "axes", f"the axes {names(shape)}", certain=True)


def broadcast(call: Call, shapes: list[Shape]) -> Mismatch | None:
    """Aligned from the right, sizes must be equal or 1."""
    law = "broadcasting aligns shapes from the right; sizes must be equal, or one of them 1"
    for a, b in pairwise(shapes):
        if found := unequal("broadcast", a, b, law):
            return found
        if len(b) > len(a):
            law = "an in-place operation cannot give its tensor more axes than it has"
            return Mismatch("in place", broadcast_axis("missing"), b[0], law, 0, -len(b))
    return None


def _setitem(call: Call, shapes: list[Shape]) -> Mismatch | None:
    value = call.args[2] if len(call.args) > 2 else None
    target = getitem(call, ())
    if not isinstance(value, Tensor) or target is None:
        return None
    law = "an assigned value must fit the slice"
    return unequal("broadcast", target, call.shape_of(value), law)


_BY_OPERATION: dict[str, Finder] = {**FINDERS, "stack": broadcast, "setitem": _setitem}


def find_in_torch_checks(
    error: Exception, shape_of: Lookup
) -> tuple[list[Operand], Mismatch] | None:
    """The inputs and the mismatch behind an error raised by a shape check in `torch.nn`."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        inspect = _CHECKS.get(frame.f_code.co_name)
        if inspect and frame.f_globals.get("__name__", "").startswith("torch.nn."):
            variables = dict(frame.f_locals)  # from Python 3.13 on a proxy, whose keys are a list
            found = inspect(variables, shape_of)
            if found:
                held = {id(v): (word, v) for word, v in variables.items() if type(v) is Tensor}
                inputs = [Operand(word, shape_of(tensor)) for word, tensor in held.values()]
                return [operand for operand in inputs if operand.shape], found
    return None


def _attention(variables: dict[str, Any], shape_of: Lookup) -> Mismatch | None:
    """`nn.MultiheadAttention`, where queries and keys are (length, batch, width) by now."""
    query, key = shape_of(variables["query"]), shape_of(variables["key"])
    width = variables["embed_dim_to_check"]
    if query[-1].size != width:
        built = Axis(width, "embed_dim", "embed_dim of the attention", certain=True)
        return Mismatch("linear", query[-1], built, _WIDTH, -1, 0)
    padding, mask = variables.get("key_padding_mask"), variables.get("attn_mask")
    if padding is not None and len(query) == 3:
        law = "key_padding_mask is (batch, key), True where a key is padding"
        if found := _compare("padding", shape_of(padding), (query[1], key[0]), law):
            return found
    if mask is not None:
        law = "attn_mask is (query, key), or (batch · h, query, key)"
        return _compare("mask", shape_of(mask)[-2:], (query[0], key[0]), law)
    return None


def _compare(kind: str, shape: Shape, wanted: Sequence[Axis], law: str) -> Mismatch | None:
    for index, (given, expected) in enumerate(zip(shape, wanted, strict=False)):
        if given.size != expected.size:
            return Mismatch(kind, given, expected, law, index - len(shape))
    return None


def _transformer(variables: dict[str, Any], shape_of: Lookup) -> Mismatch | None:
    """`nn.Transformer`, where the batch is axis 1 unless `batch_first=True`."""
    if not {"src", "tgt", "self"} <= variables.keys():
        return None
    src, tgt, module = shape_of(variables["src"]), shape_of(variables["tgt"]), variables["self"]
    index = 0 if module.batch_first else 1
    if len(src) == 3 and src[index].size != tgt[index].size:
        order = "(batch, length, d_model)" if module.batch_first else "(length, batch, d_model)"
        law = f"this nn.Transformer takes {order}: axis {index} is the batch, the same for both"
        places = index - len(src), index - len(tgt)
        return Mismatch("batch", src[index], tgt[index], law, *places)
    built = Axis(module.d_model, "d_model", "d_model of the nn.Transformer", certain=True)
    wrong = next((x for x in (src, tgt) if x[-1].size != built.size), None)
    return Mismatch("linear", wrong[-1], built, _WIDTH, -1, 0) if wrong else None


def _recurrent(variables: dict[str, Any], shape_of: Lookup) -> Mismatch | None:
    """The input of a recurrent layer and its input_size."""
    x, size = shape_of(variables["input"]), variables["self"].input_size
    built = Axis(size, "input_size", "input_size of the layer", certain=True)
    return Mismatch("linear", x[-1], built, _WIDTH, -1, 0) if x[-1].size != size else None


def _state(variables: dict[str, Any], shape_of: Lookup) -> Mismatch | None:
    """The initial state of a recurrent layer: (layers, batch, hidden)."""
    sizes = variables["expected_hidden_size"]
    wanted = [
        Axis(size, name, "required by the layer", certain=True)
        for size, name in zip(sizes, ("layers", "batch", "hidden"), strict=True)
    ]
    law = "a state is (layers · directions, batch, hidden), also with batch_first=True"
    return _compare("state", shape_of(variables["hx"]), wanted, law)


_CHECKS: dict[str, Callable[[dict[str, Any], Lookup], Mismatch | None]] = {
    "multi_head_attention_forward": _attention, "forward": _transformer,
    "check_input": _recurrent, "check_hidden_size": _state,
}  # fmt: skip
