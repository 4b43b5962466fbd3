"""Likely causes where shapes cannot be broadcast: masks, position tables, sums of sublayers."""

from collections.abc import Sequence
from itertools import permutations

from clearhead.explain.tracer.axes import LENGTHS, Shape
from clearhead.explain.tracer.diagnosis.mismatch import Mismatch
from clearhead.explain.tracer.rows import Operand

Ins = Sequence[Operand]

JOIN = ".transpose(1, 2).contiguous().view(batch, length, h * d_k)"


def labels(shape: Shape) -> list[str]:
    """The labels of the axes."""
    return [axis.label for axis in shape]


def broadcast_cause(found: Mismatch, inputs: Ins) -> str:
    """The answer of the first rule that recognizes the cause; "" if none does."""
    for rule in _RULES:
        if len(inputs) > 1 and (cause := rule(found, inputs)):
            return cause
    if "d_ff" in _both(found):
        return "a sublayer must return d_model: the projection from d_ff to d_model is missing"
    return ""


def _both(found: Mismatch) -> set[str]:
    return {found.a.label, found.b.label}


def _has_mask(inputs: Ins) -> bool:
    return "mask" in " ".join(operand.label for operand in inputs)


def _table_length(found: Mismatch, inputs: Ins) -> str:
    """A position table or a triangular mask of another length than the sentence."""
    if "max_seq_len" not in _both(found):
        return ""
    table = found.a if found.a.label == "max_seq_len" else found.b
    tokens = found.b if table is found.a else found.a
    if tokens.size > table.size:
        return (
            f"{tokens.label}={tokens.size} is longer than the {table.size} rows of the table: "
            "build it longer, with one more row if there is a class token"
        )
    if any(labels(operand.shape).count("max_seq_len") > 1 for operand in inputs):
        return "the mask was not cut to the sentence: write self.mask[:length, :length]"
    return "the position table was not cut to the sentence: write self.pe[:, : x.shape[1]]"


def _table_for_other_order(found: Mismatch, inputs: Ins) -> str:
    """A table (length, 1, d_model) added to (batch, length, d_model)."""
    for operand in inputs[:2]:
        shape = operand.shape
        if len(shape) == 3 and shape[1].size == 1 < shape[0].size and shape[0].label in LENGTHS:
            return (
                f"{operand.label or 'the table'} is (length, 1, d_model), for inputs with the "
                "batch at axis 1; here it is axis 0: build the table with unsqueeze(0), and "
                "cut it with [:, : x.shape[1]]"
            )
    return ""


def _one_token_less(found: Mismatch, inputs: Ins) -> str:
    """tgt_len and tgt_len−1."""
    short, whole = sorted((found.a.label, found.b.label), key=len, reverse=True)
    if not short.startswith(f"{whole}−"):
        return ""
    made = "the mask was" if _has_mask(inputs) else "one of the two was"
    return (
        f"{made} made for the whole {whole.removesuffix('_len')}, and the other comes from a "
        "slice [:, :-1]: make both from the same slice"
    )


def _reduced(found: Mismatch, inputs: Ins) -> str:
    """(batch, seq_len, d_model) and (batch, seq_len): a mean without keepdim."""
    for whole, part in permutations(inputs[:2]):
        if whole.shape and labels(whole.shape)[:-1] == labels(part.shape):
            name, lost = part.label or "the smaller one", whole.shape[-1].label
            return f"{name} lost its axis {lost} in a reduction: give keepdim=True there"
    return ""


def _no_length_axis(found: Mismatch, inputs: Ins) -> str:
    """(batch, hidden) with (batch, length, hidden)."""
    for whole, part in permutations(inputs[:2]):
        big, small = whole.shape, part.shape
        same_ends = len(big) == 3 and len(small) == 2 and big[-1].size == small[-1].size
        if same_ends and big[0].size == small[0].size and "mask" not in part.label:
            name = part.label or "the smaller one"
            return f"{name} has no axis for the tokens ({big[1].label}): give {name}.unsqueeze(1)"
    return ""


def _mask_without_axes(found: Mismatch, inputs: Ins) -> str:
    """(batch, key) or (batch, query, key) for scores (batch, h, query, key)."""
    ranks = sorted(len(operand.shape) for operand in inputs[:2])
    if _both(found) == {"batch", "h"} and ranks == [3, 4]:
        return "the mask has no axis for the heads: give mask.unsqueeze(1)"
    small = min((o.shape for o in inputs[:2]), key=len)
    if len(small) == 2 and ranks[-1] > 2 and labels(small)[0] == "batch":
        nones = "None, None" if ranks[-1] == 4 else "None"
        return (
            "a padding mask (batch, key) is broadcast to (query, key): "
            f"give mask[:, {nones}, :], which applies to every query"
        )
    return ""


def _other_sequence(found: Mismatch, inputs: Ins) -> str:
    if _both(found) != {"src_len", "tgt_len"}:
        return ""
    if not _has_mask(inputs):
        return (
            "source and target are two sequences: only attention combines them, with the matrix "
            "product query @ key.transpose(-2, -1)"
        )
    return (
        "source and target mask are swapped: cross-attention and the encoder need the source "
        "mask, the decoder's self-attention needs the target mask"
    )


def _heads(found: Mismatch, inputs: Ins) -> str:
    both = _both(found)
    if both == {"d_k", "d_model"}:
        return f"the heads were not concatenated: write x{JOIN} first"
    if "d_model" in both and both & LENGTHS and min(len(o.shape) for o in inputs[:2]) > 2:
        if _has_mask(inputs):
            return (
                "scores of (query, key) were expected: d_model was never split into heads, "
                "view(batch, length, h, d_k) and transpose(1, 2) are missing"
            )
        return "one of the two is transposed: (batch, length, d_model) is the usual order"
    return ""


def _transposed(found: Mismatch, inputs: Ins) -> str:
    first, second = labels(inputs[0].shape), labels(inputs[1].shape)
    if first != second and sorted(first) == sorted(second):
        return "both have the same axes in different orders: there is one transpose too few or many"
    if "h" in _both(found):
        return (
            "the heads are at another axis than expected: attention needs (batch, h, length, d_k), "
            "so view(batch, length, h, d_k) must be followed by transpose(1, 2)"
        )
    return ""


_RULES = (
    _table_length, _table_for_other_order, _one_token_less, _reduced, _no_length_axis,
    _mask_without_axes, _other_sequence, _heads, _transposed,
)  # fmt: skip
