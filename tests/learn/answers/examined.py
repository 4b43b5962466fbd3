"""Answers of an examiner who had not seen the known mistakes; the grader once missed some."""

ATTENTION = """
import math
import torch

def attention(query, key, value, mask, dropout):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    kept = weights if dropout is None else dropout(weights)
    return kept @ value, weights
"""
HEADS = """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self, d_model, d_k, dropout):
        super().__init__()
        self.q = nn.Linear(d_model, d_k)
        self.k = nn.Linear(d_model, d_k)
        self.v = nn.Linear(d_model, d_k)
        self.drop = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        q, k, v = self.q(q), self.k(k), self.v(v)
        wei = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        if mask is not None:
            wei = wei.masked_fill(mask.squeeze(1) == 0, -1e9)
        return self.drop(torch.softmax(wei, -1)) @ v

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        self.heads = nn.ModuleList([Head(d_model, d_model // h, dropout) for _ in range(h)])
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        return self.proj(torch.cat([h(q, k, v, mask) for h in self.heads], dim=-1))
"""
LOOKUP = """
import torch
import torch.nn as nn

class InputEmbeddings(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) / d_model ** 0.5)

    def forward(self, tokens):
        one_hot = nn.functional.one_hot(tokens, self.table.shape[0]).to(self.table.dtype)
        return (one_hot @ self.table) * self.table.shape[1] ** 0.5
"""
PADDING = """
def padding_mask(ids, pad_id):
    return (ids != pad_id).unsqueeze(1).unsqueeze(2)
"""
SHIFT = """
from torch.nn.functional import pad

def shift_right(labels, bos_id):
    return pad(labels[:, :-1], (1, 0), value=bos_id)
"""
LOSS = """
import torch.nn.functional as F

def smoothed_loss(log_p, labels, smoothing, pad_id):
    q = F.one_hot(labels, log_p.shape[1]).to(log_p) * (1 - smoothing) + smoothing / log_p.shape[1]
    keep = labels != pad_id
    return -(q * log_p).sum(1)[keep].mean()
"""
RATE = """
import math

def learning_rate(step, d_model, warmup):
    a, b = -0.5 * math.log(step), math.log(step) - 1.5 * math.log(warmup)
    return math.exp(-0.5 * math.log(d_model) + min(a, b))
"""
CLIPPED = """
import math
from collections import Counter

def clipped_precision(hypothesis, reference, n):
    h = Counter(zip(*[hypothesis[i:] for i in range(n)]))
    r = Counter(zip(*[reference[i:] for i in range(n)]))
    total = sum(h.values())
    return sum((h & r).values()) / total if total else 0.0

def brevity_penalty(hypothesis_length, reference_length):
    return math.exp(min(0, 1 - reference_length / max(hypothesis_length, 1)))
"""
QUANTIZE = """
import torch

def quantize(weight):
    s = torch.maximum(weight.amax(1), -weight.amin(1)).unsqueeze(1) / 127.0
    return (weight / s).round().to(torch.int8), s
"""
CACHE = """
import torch

def attend_cached(query, key, value, cache):
    for name, new in (("key", key), ("value", value)):
        cache[name] = torch.cat([cache.get(name, new[:, :, :0]), new], 2)
    scores = query @ cache["key"].mT / key.shape[-1] ** 0.5
    return scores.softmax(-1) @ cache["value"]
"""
K_MERS = """
def k_mers(sequence, k, stride=1):
    return ["".join(t) for t in zip(*(sequence[i:] for i in range(k)))][::stride]

def reverse_complement(sequence):
    return sequence[::-1].translate(str.maketrans("ACGTN", "TGCAN"))
"""

RIGHT = [
    ("write-attention", ATTENTION),
    ("multi-head-attention", HEADS),
    ("embedding-result", LOOKUP),
    ("padding-mask", PADDING),
    ("shift-right", SHIFT),
    ("label-smoothing", LOSS),
    ("learning-rate", RATE),
    ("bleu-parts", CLIPPED),
    ("quantize", QUANTIZE),
    ("cache", CACHE),
    ("k-mers", K_MERS),
]
WRONG = [
    ("write-attention", ATTENTION.replace("kept @ value, weights", "kept @ value, scores"),
     "scores-returned"),
    ("write-attention", ATTENTION.replace("torch.softmax", "torch.log_softmax"), "log-softmax"),
    ("write-attention", ATTENTION.replace("dim=-1", "dim=0"), "softmax-over-the-batch"),
    ("write-attention", ATTENTION.replace("transpose(-2, -1)", "transpose(1, 2)"),
     "wrong-axes-transposed"),
    ("multi-head-attention", HEADS.replace("squeeze(1) == 0", "squeeze(1) != 0"), "mask-inverted"),
    ("padding-mask", PADDING.replace("!=", ">"), "larger-ids-only"),
    ("padding-mask", PADDING.replace("(ids != pad_id)", "((ids == pad_id) * -1e9)"),
     "additive-padding-mask"),
    ("shift-right", SHIFT.replace("value=bos_id", "value=0"), "zero-instead-of-bos"),
    ("label-smoothing", LOSS.replace("[keep].mean()", "[keep]"), "not-averaged"),
    ("label-smoothing", LOSS.replace(" + smoothing / log_p.shape[1]", ""),
     "uniform-part-forgotten"),
    ("learning-rate", RATE.replace("-0.5 * math.log(d_model)", "-math.log(d_model)"),
     "d-model-without-the-root"),
    ("bleu-parts", CLIPPED.replace("sum((h & r).values())", "sum(r[g] for g in h)"),
     "counts-of-the-reference"),
    ("bleu-parts", CLIPPED.replace("min(0, 1 - reference_length / max(hypothesis_length, 1))",
     "1 - reference_length / max(hypothesis_length, 1)"), "long-ones-rewarded"),
    ("quantize", QUANTIZE.replace("torch.int8", "torch.int32"), "wider-integers"),
    ("quantize", QUANTIZE.replace("127.0", "128.0").replace(".round()", ".round().clamp(-127, 127)"),
     "divided-by-128"),
    ("cache", CACHE.replace(" / key.shape[-1] ** 0.5", ""), "not-scaled"),
    ("k-mers", K_MERS.replace('translate(str.maketrans("ACGTN", "TGCAN"))',
     'replace("A", "T").replace("T", "A").replace("C", "G").replace("G", "C")'),
     "replaced-one-after-the-other"),
]  # fmt: skip
