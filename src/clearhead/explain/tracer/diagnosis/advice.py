"""The likely cause of a mismatch, and what to write instead."""

from collections.abc import Callable

from clearhead.explain.tracer.axes import LENGTHS
from clearhead.explain.tracer.diagnosis.broadcast_advice import JOIN, Ins, broadcast_cause, labels
from clearhead.explain.tracer.diagnosis.mismatch import Mismatch, parts_of

# The advice where the kind of the mismatch alone gives it; {size} is the first axis's.
_FIXED = {
    "positions": "the sentence is longer than the position table: build it with at least {size} "
    "rows, or truncate the sentence",
    "dtype": "the ids were created as floats, or vectors were given instead of ids: convert ids "
    "with ids.long(), and give vectors to the layer after the embedding",
    "contiguity": "a transpose does not move the elements in memory: write .contiguous().view(…)",
    "classes": "the classes are the last axis: give logits.transpose(1, 2), or flatten both, "
    "logits.flatten(0, 1) with labels.flatten()",
    "batch": "the batch is the first axis here: write nn.Transformer(…, batch_first=True)",
    "padding": "the padding mask is transposed or belongs to another sequence: it must be "
    "(batch, key)",
}


def likely_cause(found: Mismatch, inputs: Ins) -> str:
    """One sentence: what was probably forgotten, and what to write."""
    if found.kind in _FIXED:
        return _FIXED[found.kind].format(size=found.a.size)
    advise = _ADVICE.get(found.kind, broadcast_cause)
    return advise(found, inputs) or _different_sizes(found)


def _inner(found: Mismatch, inputs: Ins) -> str:
    a, b = found.a.label, found.b.label
    right = inputs[1].label or "the right operand"
    left, axes = inputs[0].shape, inputs[1].shape
    if {a, b} <= LENGTHS:
        turned = len(left) > 1 and left[-2].label == b
        return (
            "the operands belong to two sequences: keys and values must come from the same one "
            "(the encoder's output in cross-attention)"
            + (", and the weights must be (query, key), not transposed" if turned else "")
        )
    moved = "transpose" in right or "permute" in right
    if len(axes) > 1 and axes[-1].label == a and not moved:
        return f"{right} was not transposed: write {right}.transpose(-2, -1)"
    if a in labels(axes):
        return (
            f"{right} was transposed along the wrong axes: {a} must be its second to last axis, "
            "and transpose(-2, -1) exchanges the last two"
        )
    if min(len(left), len(axes)) > 1 and left[-2].label == axes[-1].label:
        name = inputs[0].label or "the left operand"
        return f"the operands are in the wrong order: {right} must stand before {name}"
    return f"{a} and {b} are different spaces: a projection or a view between them is missing"


def _batch_axes(found: Mismatch, inputs: Ins) -> str:
    if "h" in (found.a.label, found.b.label):
        return (
            "only one operand has its heads next to the batch: after "
            "view(batch, length, h, d_k) comes transpose(1, 2)"
        )
    return "the operands have different batches or were transposed differently"


def _linear(found: Mismatch, inputs: Ins) -> str:
    x, weight = inputs[0].shape, inputs[1].shape if len(inputs) > 1 else ()
    a, b = found.a.label, found.b.label
    if a == "d_k" and "h" in labels(x):
        return f"the heads were not concatenated before the projection: write x{JOIN} first"
    if a == "d_k":
        return "the input has the width of one head: concatenate with torch.cat(heads, dim=-1)"
    before, moved = [axis.size for axis in x[:-1]], inputs[0].moved
    if found.b.size in before and (moved or b in [*labels(x[:-1]), "features"]):
        index = labels(x).index(b) if b in labels(x) else before.index(found.b.size)
        b = b if b in labels(x) or not moved else labels(x)[index]
        cause = f"{moved} moved it; omit that, or" if moved else "the input is transposed,"
        return f"{b} is axis {index}, not the last: {cause} give x.transpose({index}, -1)"
    return _wrong_width(found, bool(weight) and weight[0].size == found.a.size)


def _wrong_width(found: Mismatch, swapped: bool = False) -> str:
    a, b = found.a, found.b
    if swapped:
        return f"in_features and out_features are swapped: write nn.Linear({a.size}, {b.size})"
    if a.label[0].isdigit() and "·" in a.label:
        return (
            f"the concatenated tensors are {a.label} = {a.size} wide: the layer after cat needs "
            f"in_features={a.size}, not {b.size}"
        )
    flattened = [part.label for part in a.resolved.parts if part.label in LENGTHS]
    if flattened:
        return (
            f"flattening puts {flattened[0]} into the width, so only sentences of one length fit: "
            "take the mean over the tokens or one position instead, or pad to one length"
        )
    return f"the layer was built for {b.label}={b.size}, but the input has {a.label}={a.size}"


def _norm(found: Mismatch, inputs: Ins) -> str:
    if found.b.label in LENGTHS or found.b.size in [axis.size for axis in inputs[0].shape[:-1]]:
        return (
            f"a layer norm normalizes the features of one token: write nn.LayerNorm({found.a.size})"
            f" for {found.a.label}"
        )
    return _wrong_width(found)


def _channels(found: Mismatch, inputs: Ins) -> str:
    if inputs[0].shape[-1].size == found.b.size:
        return (
            "the channels are the last axis, as for embeddings: give x.transpose(1, 2), and "
            "transpose(1, 2) the result"
        )
    return _wrong_width(found)


def _id(found: Mismatch, inputs: Ins) -> str:
    if found.a.size < 0:
        return "a negative id is no token (the loss ignores the label -100); give ids from 0 on"
    return (
        "the tokenizer has more tokens than the embedding matrix has rows: nn.Embedding needs at "
        f"least {found.a.size + 1}"
    )


def _view(found: Mismatch, inputs: Ins) -> str:
    a, b = found.a, found.b
    if {a.label, b.label} <= LENGTHS:
        return (
            "this tensor has another length than the one whose sizes were used: write "
            "its own x.shape[1], or -1"
        )
    difference = f"{b.label} needs {b.size:,} elements, {a.label} has {a.size:,}"
    heads = [part for part in parts_of(b) if part.label == "h"]
    if "h" in b.label.split("·") and "d_model" in b.label.split("·"):
        return f"{difference}: a head has d_k = d_model / h features, not d_model"
    if heads and a.size % heads[0].size:
        fraction = f"{a.size} / {heads[0].size} is not an integer"
        return f"{difference}: {a.label} must be a multiple of h, and {fraction}"
    if "·" in a.label and b.label in a.label.split("·"):
        rest = a.label.replace(b.label, "").strip("·").replace("··", "·")
        return f"{difference}: the factor {rest} was forgotten"
    return f"{difference}: write -1 for one size, and check the others"


def _cat(found: Mismatch, inputs: Ins) -> str:
    if 1 in (found.a.size, found.b.size):
        one, many = sorted((found.a, found.b), key=lambda axis: axis.size)
        small = next((o for o in inputs if one in o.shape), inputs[0])
        return (
            f"cat does not broadcast, and {small.label or 'one tensor'} has size 1 there: "
            f"expand it first, .expand({many.label}, -1, -1)"
        )
    return "the tensors are concatenated along the wrong axis: heads, for example, need dim=-1"


def _rank(found: Mismatch, inputs: Ins) -> str:
    if found.b.name == "axes of the call" and found.a.size > found.b.size:
        return "write a @ b, which keeps the axes in front, or flatten batch and heads first"
    if len(inputs[0].shape) == 3 and "d_model" in labels(inputs[0].shape):
        return "the width was not split into heads yet: view(batch, length, h, d_k) makes 4 axes"
    return "print the shape one line earlier, and count from the end: -1 is the last axis"


def _labels(found: Mismatch, inputs: Ins) -> str:
    shifted = "−" in found.a.label + found.b.label
    if shifted or abs(found.a.size - found.b.size) == 1:
        return (
            "only one of the two was shifted: logits[:, :-1] predict the next tokens, and "
            "labels[:, 1:] are the next tokens; slice both"
        )
    return (
        "predictions and labels are not aligned: flatten both over batch and length, "
        "logits.flatten(0, 1) with labels.flatten()"
    )


def _mask(found: Mismatch, inputs: Ins) -> str:
    if {found.a.label, found.b.label} <= LENGTHS:
        return (
            "the mask was made for another pair of sequences: rows are queries, columns are keys, "
            "and in cross-attention the keys are the source tokens"
        )
    return broadcast_cause(found, [inputs[0], inputs[-1]])  # scores have the axes of queries


def _different_sizes(found: Mismatch) -> str:
    if found.a.label == found.b.label and "/2" in found.a.label:
        return "an odd width has one cosine fewer than sines: take the first d_model // 2 of them"
    a, b = (
        axis.label if axis.resolved.name == "" else f"{axis.label}={axis.size}"
        for axis in (found.a, found.b)
    )
    return f"{a} and {b} should have been equal: compare where each was created"


_ADVICE: dict[str, Callable[[Mismatch, Ins], str]] = {
    "inner": _inner, "batch axes": _batch_axes, "linear": _linear, "view": _view, "cat": _cat,
    "rank": _rank, "norm": _norm, "channels": _channels, "id": _id, "labels": _labels,
    "mask": _mask,
}  # fmt: skip
