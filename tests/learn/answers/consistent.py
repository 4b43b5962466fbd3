"""Answers whose mistake is made consistently, or hidden by NaN; it was once missed or misnamed."""

from clearhead.learn.texts import solution

Changes = tuple[tuple[str, str], ...]
NOT_CLEARED = """
import math
import torch

def attention(query, key, value, mask, dropout):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("inf"))
    weights = scores.softmax(dim=-1)
    return (weights if dropout is None else dropout(weights)) @ value, weights
"""
SPLIT = "x.view(*x.shape[:2], self.h, self.d_k).transpose(1, 2)"
WITHOUT_TRANSPOSE: Changes = (
    (SPLIT, "x.view(x.shape[0], self.h, -1, self.d_k)"),
    ("x.transpose(1, 2).flatten(2)", "x.reshape(x.shape[0], -1, self.d_model)"),
)
ARGUMENTS = "self.W_q(x), self.W_k(x), self.W_v(x)"
SWAPPED: Changes = ((ARGUMENTS, "self.W_q(x), self.W_v(x), self.W_k(x)"),)
RAW: Changes = ((ARGUMENTS, "x @ self.W_q.weight, x @ self.W_k.weight, x @ self.W_v.weight"),)
ONE_MASK: Changes = (("layer(x, encoder_output, src_mask, ", "layer(x, encoder_output, "),)


def changed(subject: str, changes: Changes) -> str:
    """The solution with other expressions."""
    text = solution(subject)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def hidden(score: str) -> str:
    """The solution with another score for hidden keys."""
    return changed("attention", (("torch.finfo(scores.dtype).min", score),))


RIGHT = [("hide-scores", hidden("float('-inf')"))]
WRONG = [
    ("split-heads", changed("multi_head_attention", WITHOUT_TRANSPOSE),
     "split-and-joined-without-transpose"),
    ("hide-scores", hidden("float('inf')"), "hidden-scores-plus-infinity"),
    ("write-attention", NOT_CLEARED, "hidden-scores-plus-infinity"),
    ("hide-scores", hidden("-1"), "hidden-scores-minus-one"),
    ("self-attention", changed("self_attention", SWAPPED), "keys-and-values-swapped"),
    ("self-attention", changed("self_attention", RAW), "weights-not-transposed"),
    ("decoder", changed("decoder", ONE_MASK), "source-mask-forgotten"),
]  # fmt: skip
