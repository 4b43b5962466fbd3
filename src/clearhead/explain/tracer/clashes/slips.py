"""From two axes that do not fit to the slip of the pen that is likely behind it."""

from collections.abc import Callable

from clearhead.explain.tracer.axis import LENGTHS
from clearhead.explain.tracer.clashes.finding import Finding, parts_of
from clearhead.explain.tracer.clashes.overlays import JOIN, Ins, called, labels, overlay


def likely_slip(found: Finding, inputs: Ins) -> str:
    """One sentence: what was probably forgotten, and what to write."""
    tell = _TELLERS.get(found.kind)
    return (tell(found, inputs) if tell else overlay(found, inputs)) or _sizes(found)


def _inner(found: Finding, inputs: Ins) -> str:
    a, b = found.a.label, found.b.label
    right = called(inputs[1], "the right factor")
    if {a, b} <= LENGTHS:
        return (
            "two different sequences met: keys and values must come from the same one "
            "(the encoder's output in cross-attention)"
        )
    axes = inputs[1].shape
    moved = "transpose" in right or "permute" in right
    if len(axes) > 1 and axes[-1].label == a and not moved:
        return f"{right} was not transposed: write {right}.transpose(-2, -1)"
    if a in labels(axes):
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
    if a == "d_k" and "h" in labels(x):
        return f"the heads were not joined before the projection: write x{JOIN} first"
    if a == "d_k":
        return "the width of one head comes in: heads belong end to end, torch.cat(heads, dim=-1)"
    if found.b.size in [axis.size for axis in x[:-1]] and b in [*labels(x[:-1]), "features"]:
        place = labels(x).index(b) if b in labels(x) else 0
        return (
            f"{b} stands at axis {place} and not at the last: the input is transposed, "
            f"give x.transpose({place}, -1)"
        )
    return _built_for_another(found, bool(weight) and weight[0].size == found.a.size)


def _built_for_another(found: Finding, swapped: bool) -> str:
    a, b = found.a, found.b
    if swapped:
        return f"in_features and out_features are swapped: write nn.Linear({a.size}, {b.size})"
    if a.label[0].isdigit() and "·" in a.label:
        return (
            f"tensors laid side by side are {a.label} = {a.size} wide: the layer after cat needs "
            f"in_features={a.size}, not {b.size}"
        )
    flattened = [part.label for part in parts_of(a) if part.label in LENGTHS]
    if flattened:
        return (
            f"flattening puts {flattened[0]} into the width, so only sentences of one length fit: "
            "take a mean or one place over the words instead, or pad to the same length"
        )
    return f"the layer was built for {b.label}={b.size}, and {a.label}={a.size} comes in"


def _norm(found: Finding, inputs: Ins) -> str:
    """`nn.LayerNorm(seq_len)`."""
    if found.b.label in LENGTHS or found.b.size in [axis.size for axis in inputs[0].shape[:-1]]:
        return (
            f"a layer norm looks at one word's features: write nn.LayerNorm({found.a.size}), "
            f"for {found.a.label}"
        )
    return _built_for_another(found, swapped=False)


def _channels(found: Finding, inputs: Ins) -> str:
    x = inputs[0].shape
    if x[-1].size == found.b.size:
        return (
            "the channels stand last, as words have them: give x.transpose(1, 2), and "
            "transpose(1, 2) what comes out"
        )
    return _built_for_another(found, swapped=False)


def _places(found: Finding, inputs: Ins) -> str:
    return (
        f"the sentence is longer than the table: build it with at least {found.a.size} rows, "
        "or cut the sentence"
    )


def _id(found: Finding, inputs: Ins) -> str:
    if found.a.size < 0:
        return "a negative id, such as a label -100 that only the loss understands, is no word"
    return (
        f"the tokenizer knows more words than the table: nn.Embedding needs its vocabulary's size, "
        f"at least {found.a.size + 1}"
    )


def _view(found: Finding, inputs: Ins) -> str:
    a, b = found.a, found.b
    if {a.label, b.label} <= LENGTHS:
        return (
            "this tensor has another length than the one whose sizes were used: write "
            "its own x.shape[1], or -1"
        )
    factors = f"{b.label} asks for {b.size:,} numbers, {a.label} has {a.size:,}"
    heads = [part for part in parts_of(b) if part.label == "h"]
    if "h" in b.label.split("·") and "d_model" in b.label.split("·"):
        return f"{factors}: a head gets d_k = d_model / h numbers, not d_model"
    if heads and a.size % heads[0].size:
        whole = f"{a.size} / {heads[0].size} is not whole"
        return f"{factors}: {a.label} must be a multiple of h, and {whole}"
    if "·" in a.label and b.label in a.label.split("·"):
        rest = a.label.replace(b.label, "").strip("·").replace("··", "·")
        return f"{factors}: the factor {rest} was forgotten"
    return f"{factors}: write -1 for one size, and check the others"


def _order(found: Finding, inputs: Ins) -> str:
    return "the transpose before left the numbers where they were: write .contiguous().view(…)"


def _cat(found: Finding, inputs: Ins) -> str:
    if 1 in (found.a.size, found.b.size):
        one, many = sorted((found.a, found.b), key=lambda axis: axis.size)
        small = next((o for o in inputs if one in o.shape), inputs[0])
        return (
            f"one {called(small, 'tensor')} is there for all, and cat does not broadcast: "
            f"stretch it first, .expand({many.label}, -1, -1)"
        )
    return "the tensors are joined along the wrong axis: heads, for one, belong along dim=-1"


def _rank(found: Finding, inputs: Ins) -> str:
    if found.b.name == "axes of the call" and found.a.size > found.b.size:
        return "write a @ b, which leaves the axes in front alone, or flatten batch and heads first"
    if len(inputs[0].shape) == 3 and "d_model" in labels(inputs[0].shape):
        return "the width was not split into heads yet: view(batch, length, h, d_k) makes 4 axes"
    return "print the shape one line earlier, and count from the end: -1 is the last axis"


def _labels(found: Finding, inputs: Ins) -> str:
    short = "−" in found.a.label + found.b.label
    if short or abs(found.a.size - found.b.size) == 1:
        return (
            "one of the two was shifted: logits[:, :-1] say what comes next, labels[:, 1:] are "
            "what came; cut both"
        )
    return (
        "predictions and labels are not aligned: flatten both over batch and length, "
        "logits.flatten(0, 1) against labels.flatten()"
    )


def _classes(found: Finding, inputs: Ins) -> str:
    return (
        "the classes stand last: give logits.transpose(1, 2), or flatten both, "
        "logits.flatten(0, 1) against labels.flatten()"
    )


def _batch(found: Finding, inputs: Ins) -> str:
    return "your batch comes first: write nn.Transformer(…, batch_first=True)"


def _padding(found: Finding, inputs: Ins) -> str:
    return "the padding mask is transposed or belongs to another sequence: (batch, key) is expected"


def _mask(found: Finding, inputs: Ins) -> str:
    if {found.a.label, found.b.label} <= LENGTHS:
        return (
            "the mask was made for another pair of sequences: rows are queries, columns keys, and "
            "in cross-attention the keys are the source's"
        )
    return overlay(found, [inputs[0], inputs[-1]])  # scores have the axes of queries


def _sizes(found: Finding) -> str:
    if found.a.label == found.b.label and "/2" in found.a.label:
        return "an odd width has one cosine less than sines: take the first d_model // 2 of them"
    a, b = (
        axis.label if axis.known.name == "" else f"{axis.label}={axis.size}"
        for axis in (found.a, found.b)
    )
    return f"{a} and {b} were meant to be one size: compare where each comes from"


_TELLERS: dict[str, Callable[[Finding, Ins], str]] = {
    "inner": _inner, "stack": _stack, "linear": _linear, "view": _view, "order": _order,
    "cat": _cat, "rank": _rank, "norm": _norm, "channels": _channels, "places": _places,
    "id": _id, "labels": _labels, "classes": _classes, "batch": _batch, "padding": _padding,
    "mask": _mask,
}  # fmt: skip
