"""torch's own modules look at shapes before they compute: what their checks have found."""

from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from torch import Tensor

from clearhead.explain.tracer.axis import Axis, Shape
from clearhead.explain.tracer.clashes.finding import Finding
from clearhead.explain.tracer.rows import Operand

Lookup = Callable[[Tensor], Shape]
Checked = tuple[list[Operand], Finding]  # what went in, and the clash
_LINEAR = "a layer takes vectors of the width that it was built for, along the last axis"


def checked(error: Exception, shape_of: Lookup) -> Checked | None:
    """The clash behind an error that a check of `torch.nn` has raised."""
    for frame in _frames(error):
        look = _LOOKS.get(frame.f_code.co_name)
        if look and frame.f_globals.get("__name__", "").startswith("torch.nn."):
            found = look(frame.f_locals, shape_of)
            if found:
                held = {id(v): (word, v) for word, v in frame.f_locals.items() if _is_tensor(v)}
                inputs = [Operand(word, shape_of(tensor)) for word, tensor in held.values()]
                return [operand for operand in inputs if operand.shape], found
    return None


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor) and type(value) is Tensor


def _frames(error: Exception) -> Iterator[FrameType]:
    """From the module's own call to the line that raised."""
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame
        step = step.tb_next


def _attention(held: dict[str, Any], shape_of: Lookup) -> Finding | None:
    """`nn.MultiheadAttention`; its queries and keys stand as (length, batch, width) by now."""
    query, key = shape_of(held["query"]), shape_of(held["key"])
    width = held["embed_dim_to_check"]
    if query[-1].size != width:
        built = Axis(width, "embed_dim", "embed_dim of the attention", sure=True)
        return Finding("linear", query[-1], built, _LINEAR, -1, 0)
    padding, mask = held.get("key_padding_mask"), held.get("attn_mask")
    if padding is not None and len(query) == 3:
        law = "key_padding_mask is (batch, key), True where a key is padding"
        if found := _as_wanted("padding", shape_of(padding), (query[1], key[0]), law):
            return found
    if mask is not None:
        law = "attn_mask is (query, key), or (batch · h, query, key)"
        return _as_wanted("mask", shape_of(mask)[-2:], (query[0], key[0]), law)
    return None


def _as_wanted(kind: str, shape: Shape, wanted: Sequence[Axis], law: str) -> Finding | None:
    for place, (is_, should) in enumerate(zip(shape, wanted, strict=False)):
        if is_.size != should.size:
            return Finding(kind, is_, should, law, place - len(shape))
    return None


def _transformer(held: dict[str, Any], shape_of: Lookup) -> Finding | None:
    """`nn.Transformer`, where the batch comes second unless one says otherwise."""
    if not {"src", "tgt", "self"} <= held.keys():
        return None
    src, tgt, module = shape_of(held["src"]), shape_of(held["tgt"]), held["self"]
    place = 0 if module.batch_first else 1
    if len(src) == 3 and src[place].size != tgt[place].size:
        order = "(batch, length, d_model)" if module.batch_first else "(length, batch, d_model)"
        law = f"this nn.Transformer takes {order}: axis {place} is the batch, the same for both"
        return Finding("batch", src[place], tgt[place], law, place - len(src), place - len(tgt))
    built = Axis(module.d_model, "d_model", "d_model of the nn.Transformer", sure=True)
    wrong = next((x for x in (src, tgt) if x[-1].size != built.size), None)
    return Finding("linear", wrong[-1], built, _LINEAR, -1, 0) if wrong else None


def _recurrent(held: dict[str, Any], shape_of: Lookup) -> Finding | None:
    """What comes in, and the width that the layer was built for."""
    x, size = shape_of(held["input"]), held["self"].input_size
    built = Axis(size, "input_size", "input_size of the layer", sure=True)
    return Finding("linear", x[-1], built, _LINEAR, -1, 0) if x[-1].size != size else None


def _state(held: dict[str, Any], shape_of: Lookup) -> Finding | None:
    """The state that a recurrent layer begins with: (layers, batch, hidden)."""
    wanted = [
        Axis(size, name, "what the layer needs", sure=True)
        for size, name in zip(
            held["expected_hidden_size"], ("layers", "batch", "hidden"), strict=True
        )
    ]
    law = "a state is (layers · directions, batch, hidden), also where batch_first is True"
    return _as_wanted("state", shape_of(held["hx"]), wanted, law)


_LOOKS: dict[str, Callable[[dict[str, Any], Lookup], Finding | None]] = {
    "multi_head_attention_forward": _attention, "forward": _transformer,
    "check_input": _recurrent, "check_hidden_size": _state,
}  # fmt: skip
