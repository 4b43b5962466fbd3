"""Slips behind shapes that do not lie over each other: masks, tables, sums of sublayers."""

from collections.abc import Sequence

from clearhead.explain.tracer.axis import LENGTHS, Shape
from clearhead.explain.tracer.clashes.finding import Finding
from clearhead.explain.tracer.rows import Operand

Ins = Sequence[Operand]

JOIN = ".transpose(1, 2).contiguous().view(batch, length, h * d_k)"


def labels(shape: Shape) -> list[str]:
    """The names of the axes."""
    return [axis.label for axis in shape]


def called(operand: Operand, otherwise: str) -> str:
    """How the code calls it."""
    return operand.label or otherwise


def overlay(found: Finding, inputs: Ins) -> str:
    """The first rule that knows the slip speaks; "" if none does."""
    for rule in _RULES:
        if len(inputs) > 1 and (said := rule(found, inputs)):
            return said
    if "d_ff" in (found.a.label, found.b.label):
        return "a sublayer must give back d_model: the map from d_ff back to d_model is missing"
    return ""


def _both(found: Finding) -> set[str]:
    return {found.a.label, found.b.label}


def _about_masks(inputs: Ins) -> bool:
    return "mask" in " ".join(operand.label for operand in inputs)


def _table(found: Finding, inputs: Ins) -> str:
    """A table of positions, or a triangle, of another length than the sentence."""
    if "max_seq_len" not in _both(found):
        return ""
    table = found.a if found.a.label == "max_seq_len" else found.b
    words = found.b if table is found.a else found.a
    if words.size > table.size:
        return (
            f"{words.label}={words.size} is longer than the {table.size} rows of the table: build "
            "it longer, one row more for a class token"
        )
    if any(labels(operand.shape).count("max_seq_len") > 1 for operand in inputs):
        return "the triangle was not cut to the sentence: write self.mask[:length, :length]"
    return "the table of positions was not cut to the sentence: write self.pe[:, : x.shape[1]]"


def _table_with_length_in_front(found: Finding, inputs: Ins) -> str:
    """(length, 1, d_model) on (batch, length, d_model)."""
    for operand in inputs[:2]:
        shape = operand.shape
        if len(shape) == 3 and shape[1].size == 1 < shape[0].size and shape[0].label in LENGTHS:
            return (
                f"{called(operand, 'the table')} is (length, 1, d_model), for a batch that stands "
                "at axis 1; yours stands at axis 0: build the table with unsqueeze(0), and "
                "cut it by [:, : x.shape[1]]"
            )
    return ""


def _one_word_less(found: Finding, inputs: Ins) -> str:
    """tgt_len and tgt_len−1."""
    short, whole = sorted((found.a.label, found.b.label), key=len, reverse=True)
    if not short.startswith(f"{whole}−"):
        return ""
    made = "the mask was" if _about_masks(inputs) else "one of the two was"
    return (
        f"{made} made for the whole {whole.removesuffix('_len')}, and the other comes from a "
        "slice [:, :-1]: make both from the same slice"
    )


def _reduced(found: Finding, inputs: Ins) -> str:
    """(batch, seq_len, d_model) and (batch, seq_len): a mean without keepdim."""
    for whole, part in ((0, 1), (1, 0)):
        shapes = inputs[whole].shape, inputs[part].shape
        if len(shapes[0]) == len(shapes[1]) + 1 and labels(shapes[0])[:-1] == labels(shapes[1]):
            part_name = called(inputs[part], "the smaller one")
            lost = shapes[0][-1].label
            return f"{part_name} lost its axis {lost} in a mean or a sum: give keepdim=True there"
    return ""


def _one_for_all_words(found: Finding, inputs: Ins) -> str:
    """(batch, hidden) on (batch, length, hidden)."""
    for whole, part in ((0, 1), (1, 0)):
        big, small = inputs[whole].shape, inputs[part].shape
        same_ends = len(big) == 3 and len(small) == 2 and big[-1].size == small[-1].size
        if same_ends and big[0].size == small[0].size and "mask" not in inputs[part].label:
            name = called(inputs[part], "the smaller one")
            return f"{name} has no axis for the words ({big[1].label}): give {name}.unsqueeze(1)"
    return ""


def _mask_without_axes(found: Finding, inputs: Ins) -> str:
    """(batch, key) or (batch, query, key) over scores (batch, h, query, key)."""
    ranks = sorted(len(operand.shape) for operand in inputs[:2])
    if _both(found) == {"batch", "h"} and ranks == [3, 4]:
        return "the mask has no axis for the heads: give mask.unsqueeze(1)"
    small = min((o.shape for o in inputs[:2]), key=len)
    if len(small) == 2 and ranks[-1] > 2 and labels(small)[0] == "batch":
        stars = "None, None" if ranks[-1] == 4 else "None"
        return (
            "a padding mask (batch, key) is laid over (query, key): "
            f"give mask[:, {stars}, :], which looks at every query"
        )
    return ""


def _other_sequence(found: Finding, inputs: Ins) -> str:
    if _both(found) == {"src_len", "tgt_len"}:
        if not _about_masks(inputs):
            return "source and target are two sequences: only attention brings them together"
        return (
            "source and target were swapped: in cross-attention and in the encoder the source "
            "mask is right, in the decoder's self-attention the target mask"
        )
    return ""


def _heads(found: Finding, inputs: Ins) -> str:
    both = _both(found)
    if both == {"d_k", "d_model"}:
        return f"the heads were not joined: write x{JOIN} first"
    if "d_model" in both and both & LENGTHS and min(len(o.shape) for o in inputs[:2]) > 2:
        if _about_masks(inputs):
            return (
                "scores of (query, key) were expected: d_model was never split into heads, "
                "view(batch, length, h, d_k) and transpose(1, 2) are missing"
            )
        return "one of the two is transposed: (batch, length, d_model) is the order of the paper"
    return ""


def _transposed(found: Finding, inputs: Ins) -> str:
    first, second = labels(inputs[0].shape), labels(inputs[1].shape)
    if first != second and sorted(first) == sorted(second):
        return "both hold the same axes in another order: a transpose is missing or too many"
    if "h" in _both(found):
        return (
            "the heads stand at another place than expected: (batch, h, length, d_k) is the order "
            "for attention, so view(batch, length, h, d_k) needs transpose(1, 2)"
        )
    return ""


_RULES = (
    _table, _table_with_length_in_front, _one_word_less, _reduced, _one_for_all_words,
    _mask_without_axes, _other_sequence, _heads, _transposed,
)  # fmt: skip
