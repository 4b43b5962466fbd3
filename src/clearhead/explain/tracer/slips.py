"""From two axes that do not fit to the slip of the pen that is likely behind it."""

from collections.abc import Callable, Sequence

from clearhead.explain.tracer.axis import LENGTHS, Shape
from clearhead.explain.tracer.finding import Finding
from clearhead.explain.tracer.rows import Operand

Ins = Sequence[Operand]

JOIN = ".transpose(1, 2).contiguous().view(batch, length, h * d_k)"


def likely_slip(found: Finding, inputs: Ins) -> str:
    """One sentence: what was probably forgotten, and what to write."""
    tell = _TELLERS.get(found.kind, _sizes)
    return tell(found, inputs)


def _labels(shape: Shape) -> list[str]:
    return [axis.label for axis in shape]


def _called(operand: Operand, otherwise: str) -> str:
    return operand.label or otherwise


def _inner(found: Finding, inputs: Ins) -> str:
    a, b = found.a.label, found.b.label
    right = _called(inputs[1], "the right factor")
    if {a, b} <= LENGTHS:
        return (
            "two different sequences met: keys and values must come from the same one "
            "(the encoder's output in cross-attention)"
        )
    axes = inputs[1].shape
    moved = "transpose" in right or "permute" in right
    if len(axes) > 1 and axes[-1].label == a and not moved:
        return f"{right} was not transposed: write {right}.transpose(-2, -1)"
    if a in _labels(axes):
        return (
            f"{right} was transposed along the wrong axes: {a} must be its last but one axis, "
            "and transpose(-2, -1) swaps the last two"
        )
    return f"{a} and {b} are different spaces: a projection or a view between them is missing"


def _stack(found: Finding, inputs: Ins) -> str:
    if "h" in (found.a.label, found.b.label):
        return (
            "one side has its heads beside the batch, the other has not: after "
            "view(batch, length, h, d_k) comes transpose(1, 2)"
        )
    return "the two sides hold different batches or were transposed differently"


def _linear(found: Finding, inputs: Ins) -> str:
    x, weight = inputs[0].shape, inputs[1].shape if len(inputs) > 1 else ()
    a, b = found.a.label, found.b.label
    if a == "d_k" and "h" in _labels(x):
        return f"the heads were not joined before the projection: write x{JOIN} first"
    if a == "d_k":
        return "the width of one head comes in: heads belong end to end, torch.cat(heads, dim=-1)"
    if found.b.size in [axis.size for axis in x[:-1]] and b in [*_labels(x[:-1]), "features"]:
        place = _labels(x).index(b) if b in _labels(x) else 0
        return (
            f"{b} stands at axis {place} and not at the last: the input is transposed, "
            f"give x.transpose({place}, -1)"
        )
    if weight and weight[0].size == found.a.size:
        return (
            "in_features and out_features are swapped: "
            f"write nn.Linear({found.a.size}, {found.b.size})"
        )
    return f"the layer was built for {b}={found.b.size}, and {a}={found.a.size} comes in"


def _broadcast(found: Finding, inputs: Ins) -> str:
    for rule in (_table, _reduced, _mask_without_heads, _other_sequence, _heads, _transposed):
        if said := rule(found, inputs):
            return said
    if "d_ff" in (found.a.label, found.b.label):
        return "a sublayer must give back d_model: the map from d_ff back to d_model is missing"
    return _sizes(found, inputs)


def _table(found: Finding, inputs: Ins) -> str:
    if "max_seq_len" in (found.a.label, found.b.label):
        return "the table of positions was not cut to the sentence: write self.pe[:, : x.shape[1]]"
    return ""


def _reduced(found: Finding, inputs: Ins) -> str:
    """(batch, seq_len, d_model) and (batch, seq_len): a mean without keepdim."""
    for whole, part in ((0, 1), (1, 0)):
        shapes = inputs[whole].shape, inputs[part].shape
        if len(shapes[0]) == len(shapes[1]) + 1 and _labels(shapes[0])[:-1] == _labels(shapes[1]):
            part_name = _called(inputs[part], "the smaller one")
            lost = shapes[0][-1].label
            return f"{part_name} lost its axis {lost} in a mean or a sum: give keepdim=True there"
    return ""


def _mask_without_heads(found: Finding, inputs: Ins) -> str:
    both = {found.a.label, found.b.label}
    ranks = sorted(len(operand.shape) for operand in inputs[:2])
    if both == {"batch", "h"} and ranks == [3, 4]:
        return "the mask has no axis for the heads: give mask.unsqueeze(1)"
    return ""


def _other_sequence(found: Finding, inputs: Ins) -> str:
    if {found.a.label, found.b.label} == {"src_len", "tgt_len"}:
        if "mask" not in " ".join(operand.label for operand in inputs):
            return "source and target are two sequences: only attention brings them together"
        return (
            "source and target were swapped: in cross-attention and in the encoder the source "
            "mask is right, in the decoder's self-attention the target mask"
        )
    return ""


def _heads(found: Finding, inputs: Ins) -> str:
    both = {found.a.label, found.b.label}
    if both == {"d_k", "d_model"}:
        return f"the heads were not joined: write x{JOIN} first"
    if "d_model" in both and both & LENGTHS and min(len(o.shape) for o in inputs[:2]) > 2:
        if "mask" in " ".join(o.label for o in inputs):
            return (
                "scores of (query, key) were expected: d_model was never split into heads, "
                "view(batch, length, h, d_k) and transpose(1, 2) are missing"
            )
        return "one of the two is transposed: (batch, length, d_model) is the order of the paper"
    return ""


def _transposed(found: Finding, inputs: Ins) -> str:
    first, second = _labels(inputs[0].shape), _labels(inputs[1].shape)
    if first != second and sorted(first) == sorted(second):
        return "both hold the same axes in another order: a transpose is missing or too many"
    if "h" in (found.a.label, found.b.label):
        return (
            "the heads stand at another place than expected: (batch, h, length, d_k) is the order "
            "for attention, so view(batch, length, h, d_k) needs transpose(1, 2)"
        )
    return ""


def _view(found: Finding, inputs: Ins) -> str:
    a, b = found.a, found.b
    factors = f"{b.label} asks for {b.size:,} numbers, {a.label} has {a.size:,}"
    if "h" in b.label.split("·") and "d_model" in b.label.split("·"):
        return f"{factors}: a head gets d_k = d_model / h numbers, not d_model"
    if "·" in a.label and b.label in a.label.split("·"):
        rest = a.label.replace(b.label, "").strip("·").replace("··", "·")
        return f"{factors}: the factor {rest} was forgotten"
    return f"{factors}: write -1 for one size, and check the others"


def _order(found: Finding, inputs: Ins) -> str:
    return "the transpose before left the numbers where they were: write .contiguous().view(…)"


def _cat(found: Finding, inputs: Ins) -> str:
    return "the tensors are joined along the wrong axis: heads, for one, belong along dim=-1"


def _rank(found: Finding, inputs: Ins) -> str:
    if len(inputs[0].shape) == 3 and "d_model" in _labels(inputs[0].shape):
        return "the width was not split into heads yet: view(batch, length, h, d_k) makes 4 axes"
    return "print the shape one line earlier, and count from the end: -1 is the last axis"


def _loss(found: Finding, inputs: Ins) -> str:
    return (
        "predictions and labels are not aligned: flatten both over batch and length, "
        "logits.flatten(0, 1) against labels.flatten()"
    )


def _sizes(found: Finding, inputs: Ins) -> str:
    if found.a.label == found.b.label and "/2" in found.a.label:
        return "an odd width has one cosine less than sines: take the first d_model // 2 of them"
    return (
        f"{found.a.label}={found.a.size} and {found.b.label}={found.b.size} were meant to be one "
        "size: compare where each comes from"
    )


_TELLERS: dict[str, Callable[[Finding, Ins], str]] = {
    "inner": _inner, "stack": _stack, "linear": _linear, "broadcast": _broadcast, "view": _view,
    "order": _order, "cat": _cat, "in place": _broadcast, "loss": _loss,
    "rank": _rank,
}  # fmt: skip
