"""Answers of a third examiner: right for the sizes and ids that were tried once, and no others."""

from clearhead.learn.texts import solution

HEADS = """
import math
from torch import nn

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        self.h, self.d_k = h, d_model // h
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        self.c_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        return x.unflatten(2, (self.h, self.d_k)).transpose(1, 2)

    def forward(self, q, k, v, mask):
        q, k, v = (self.split(x) for x in (self.q_proj(q), self.k_proj(k), self.v_proj(v)))
        scores = q @ k.mT / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return self.c_proj((self.dropout(scores.softmax(-1)) @ v).transpose(1, 2).flatten(2))
"""
HEAD_LIST = """
import math
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self, d_model, d_k, dropout):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_k, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        q, k, v = self.query(q), self.key(k), self.value(v)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask[:, 0] == 0, -1e9)
        return self.dropout(scores.softmax(-1)) @ v

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        self.heads = nn.ModuleList(Head(d_model, d_model // h, dropout) for _ in range(h))
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask):
        return self.proj(torch.cat([head(q, k, v, mask) for head in self.heads], dim=-1))
"""
# One matrix for all heads, as the paper writes it: W_i^Q is (d_model, d_k).
MATRICES = """
import math
import torch
from torch import nn

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        d_k = d_model // h
        self.W_q = nn.Parameter(torch.randn(h, d_model, d_k))
        self.W_k = nn.Parameter(torch.randn(h, d_model, d_k))
        self.W_v = nn.Parameter(torch.randn(h, d_model, d_k))
        self.W_o = nn.Parameter(torch.randn(d_model, d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        q, k, v = (x[:, None] @ w for x, w in ((q, self.W_q), (k, self.W_k), (v, self.W_v)))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return (self.dropout(scores.softmax(-1)) @ v).transpose(1, 2).flatten(2) @ self.W_o
"""
# A dropout that is written out draws as many elements as nn.Dropout.
WRITTEN_OUT = """
import torch
from torch import nn

class FeedForwardBlock(nn.Module):
    def __init__(self, d_model, d_ff, dropout):
        super().__init__()
        self.one, self.two, self.p = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), dropout

    def forward(self, x):
        x = torch.relu(self.one(x))
        if self.training and self.p:
            kept = torch.rand_like(x) >= self.p
            x = x * kept / (1 - self.p) if self.p < 1 else x * 0
        return self.two(x)
"""
ATTENTION = """
import math

def attention(query, key, value, mask, dropout):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return (weights if dropout is None else dropout(weights)) @ value, weights
"""
UNUSED = "\n\ndef masked_softmax(scores, mask):\n    {}\n"


def changed(subject: str, *pairs: str) -> str:
    """The solution with some texts replaced: old, new, old, new, …"""
    text = solution(subject)
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    return text


HEAD_DROPOUT = "self.attention(query, key, value, mask, self.dropout)"
WITHOUT = "self.attention(query, key, value, mask, None)"
JOINED = "self.w_o(self.join_heads(x))"
DROPPED = "self.w_o(nn.functional.dropout(self.join_heads(x), self.dropout.p, self.training))"
BY_HAND = """

class DropoutByHand(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return x * (torch.rand(x.shape) > self.p){} if self.training else x

import torch
"""
# The exercises on blocks with dropout, and their subjects.
DROPOUTS = (
    ("add-positions", "positional_encoding"),
    ("multi-head-attention", "multi_head_attention"),
    ("residual", "residual"),
    ("write-feed-forward", "feed_forward"),
)


def with_dropout_by_hand(subject: str, scaled: str) -> str:
    """The solution with a dropout of the learner's own, which divides by 1 - p or does not."""
    return changed(subject, "nn.Dropout(dropout)", "DropoutByHand(dropout)") + BY_HAND.format(
        scaled
    )


MEAN = "((1 - smoothing) * nll + smoothing * uniform).mean()"
LOWEST = "torch.finfo(scores.dtype).min"

RIGHT = [
    ("multi-head-attention", HEADS),
    ("multi-head-attention", HEAD_LIST),
    ("multi-head-attention", MATRICES),
    ("write-feed-forward", WRITTEN_OUT),
    ("write-attention", ATTENTION),
    ("write-feed-forward", WRITTEN_OUT.replace("d_model", "features")),
    *((name, with_dropout_by_hand(subject, " / (1 - self.p)")) for name, subject in DROPOUTS),
]
WRONG = [
    ("multi-head-attention", changed("multi_head_attention", HEAD_DROPOUT,
     "self.attention(query, key, self.dropout(value), mask, None)"), "dropout-on-the-values"),
    ("multi-head-attention", changed("multi_head_attention", "self.w_v(v)",
     "self.dropout(self.w_v(v))", HEAD_DROPOUT, WITHOUT), "dropout-on-the-values"),
    ("multi-head-attention", changed("multi_head_attention", HEAD_DROPOUT, WITHOUT, JOINED, DROPPED),
     "dropout-on-the-joined-heads"),
    ("multi-head-attention", changed("multi_head_attention", JOINED, DROPPED), "dropout-twice"),
    ("feed-forward", changed("feed_forward", "self.linear_1(x)", "self.linear_1(self.dropout(x))"),
     "dropout-twice"),
    ("write-feed-forward", changed("feed_forward", "self.linear_2(self.dropout(torch.relu(self.linear_1(x))))",
     "self.linear_2(torch.relu(self.linear_1(self.dropout(x))))"), "dropout-on-the-input"),
    ("residual", changed("residual", "sublayer(self.norm(x))", "sublayer(self.dropout(self.norm(x)))"),
     "dropout-twice"),
    ("add-positions", changed("positional_encoding", "return self.dropout(x +",
     "x = self.dropout(x)\n        return self.dropout(x +"), "dropout-twice"),
    ("shift-right", changed("shift_right", "= bos_id", "= 1"), "bos-id-fixed"),
    ("padding-mask", changed("masks", "ids != pad_id", "ids < pad_id"), "smaller-ids-only"),
    ("label-smoothing", changed("label_smoothing", "labels != pad_id", "labels < pad_id"),
     "smaller-labels-only"),
    ("label-smoothing", changed("label_smoothing", "labels != pad_id", "labels != log_p.shape[1] - 1"),
     "last-id-as-padding"),
    ("label-smoothing", changed("label_smoothing", MEAN, "(.9 * nll + .1 * uniform).mean()"),
     "smoothing-fixed"),
    ("encoder", changed("encoder", "for layer in self.layers:", "for i in range(3):", "layer(x, mask)",
     "self.layers[i](x, mask)"), "number-of-layers-fixed"),
    ("encoder", changed("encoder", "for layer in self.layers:\n            x = layer(x, mask)\n"
     "        return self.norm(x)", "return self.norm(self.layers(x, mask))"), "list-of-layers-called"),
    ("write-attention", ATTENTION.replace("mask == 0", "~mask[:, 0, 0, :][:, None, None, :].bool()"),
     "mask-of-the-first-query"),
    ("bleu-parts", changed("bleu_parts", "tuple(hypothesis[i : i + n])",
     "tuple(sorted(hypothesis[i : i + n]))", "tuple(reference[i : i + n])",
     "tuple(sorted(reference[i : i + n]))"), "words-of-an-n-gram-sorted"),
    ("scale", changed("attention", "math.sqrt(d_k)", "math.isqrt(d_k)"), "root-rounded"),
    ("scale", changed("attention", "math.sqrt(d_k)", "int(d_k**0.5)"), "root-rounded"),
    ("keys-and-values", changed("multi_head_attention", "math.sqrt(d_k)", "int(d_k**0.5)"),
     "root-rounded"),
    ("hide-scores", changed("attention", LOWEST, "-8"), "almost-right"),
    ("hide-scores", changed("attention", LOWEST, "-10.0"), "almost-right"),
    ("hide-scores", changed("attention", LOWEST, "-12"), "hidden-scores-not-low-enough"),
    ("write-attention", ATTENTION.replace("-1e9", "-9.0"), "almost-right"),
    ("write-attention", ATTENTION.replace("-1e9", "-12"), "almost-right"),
    ("frequencies", changed("positional_encoding", "torch.exp(even * (-math.log(10000.0) / d_model))",
     "10000 ** (-even / seq_len)"), "divided-by-the-length"),
    ("decoder-block", changed("decoder_block", "self.self_attention_block(y, y, y, tgt_mask)",
     "self.self_attention_block(memory, memory, memory, src_mask)"), "self-attention-to-the-encoder"),
    ("encode-decode", changed("transformer", "self.src_pos(self.src_embed", "self.tgt_pos(self.src_embed"),
     "source-positioned-as-target"),
    ("split-heads", changed("multi_head_attention", "x.transpose(1, 2).flatten(2)",
     "x.transpose(2, 3).flatten(2)"), "joined-in-the-wrong-axes"),
    ("encode-decode", changed("transformer", "return self.encoder(", "self.encoder("),
     "nothing-returned"),
    ("encode-decode", changed("transformer", "return self.decoder(", "self.decoder("),
     "nothing-returned"),
    ("padding-mask", changed("masks", "return (ids != pad_id)", "(ids != pad_id)"),
     "nothing-returned"),
    ("look-ahead-mask", changed("masks", "return torch.ones(", "torch.ones("), "nothing-returned"),
    ("write-attention", changed("attention", "return scores.softmax", "scores.softmax"),
     "nothing-returned"),
    ("split-heads", changed("multi_head_attention", "return x.view", "x.view"), "nothing-returned"),
    ("split-heads", changed("multi_head_attention", "return x.transpose", "x.transpose"),
     "nothing-returned"),
]  # fmt: skip
# Wrong answers without a known mistake, and a part of the report on each.
UNNAMED = [
    ("padding-mask", changed("masks", "ids != pad_id", "ids != 9"), "tgt_len=5"),
    ("greedy", changed("greedy", "[bos_id]", "[0]"), "vocab=5"),
    ("greedy", changed("greedy", "== eos_id", "== 1"), "vocab=5"),
    ("beam-search", changed("beam", "[bos_id]", "[0]", "eos_id", "1", "1: int", "eos_id: int"),
     "vocab=5"),
    ("write-attention", ATTENTION + UNUSED.format("return scores.softmax(0)"),
     "distributes a weight of 1 over the visible keys"),
    ("write-attention", ATTENTION + UNUSED.format("raise NotImplementedError"), "not written yet"),
    ("label-smoothing", changed("label_smoothing", MEAN, MEAN + ".reshape(1)"), "expected shape ()"),
    ("split-heads", changed("multi_head_attention", "x.transpose(1, 2).flatten(2)",
     "x.transpose(2, 3).flatten(1)"), "RuntimeError"),
    ("scale", changed("attention", "math.sqrt(d_k)", "(2.5 if len(query) == 1 else math.sqrt(d_k))"),
     "batch=1"),
    *((name, with_dropout_by_hand(subject, ""), "divide what is kept by 1 - p") for name, subject in DROPOUTS),
]  # fmt: skip
