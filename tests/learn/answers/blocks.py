"""Answers as learners write them: right ones in other words, wrong ones with known mistakes."""

SDPA = """
import torch.nn.functional as F

def attention(query, key, value, mask, dropout):
    weights = (query @ key.mT / query.shape[-1] ** 0.5)
    if mask is not None:
        weights = weights.masked_fill(mask == 0, -1e9)
    weights = weights.softmax(-1)
    if dropout is not None:
        return dropout(weights) @ value, weights
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), weights
"""
LOOPS = """
import math
import torch

def attention(query, key, value, mask, dropout):
    batch, h, n, d_k = query.shape
    rows = []
    for i in range(n):
        row = [(query[:, :, i] * key[:, :, j]).sum(-1) for j in range(key.shape[2])]
        rows.append(torch.stack(row, -1) / math.sqrt(d_k))
    scores = torch.stack(rows, 2)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    e = torch.exp(scores - scores.max(-1, keepdim=True).values)
    w = e / e.sum(-1, keepdim=True)
    return torch.einsum("bhqk,bhkd->bhqd", dropout(w) if dropout else w, value), w
"""
OTHER_NAMES = """
import math
import torch
from torch import nn

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        self.h = h
        self.query_proj = nn.Linear(d_model, d_model)
        self.key_proj = nn.Linear(d_model, d_model)
        self.value_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(dropout)
        self.calls = 0

    def forward(self, q, k, v, mask):
        self.calls += 1
        b, n, d = q.shape
        split = lambda x: torch.stack(x.chunk(self.h, -1), 1)
        Q, K, V = split(self.query_proj(q)), split(self.key_proj(k)), split(self.value_proj(v))
        s = torch.einsum("bhqd,bhkd->bhqk", Q, K) / math.sqrt(d // self.h)
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9)
        out = self.drop(s.softmax(-1)) @ V
        return self.out_proj(torch.cat([out[:, i] for i in range(self.h)], -1))
"""
FUSED = """
import torch
from torch import nn

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        self.h, self.qkv, self.o = h, nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        w, b = self.qkv.weight.chunk(3), self.qkv.bias.chunk(3)
        def f(x, i):
            y = nn.functional.linear(x, w[i], b[i])
            return y.unflatten(2, (self.h, -1)).transpose(1, 2)
        s = f(q, 0) @ f(k, 1).mT * (q.shape[-1] // self.h) ** -0.5
        if mask is not None:
            s = s.masked_fill(~mask.bool(), torch.finfo(s.dtype).min)
        return self.o((self.drop(s.softmax(-1)) @ f(v, 2)).transpose(1, 2).flatten(2))
"""
NO_BIAS = """
import math
import torch
import torch.nn as nn

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model: int, h: int, dropout: float) -> None:
        super().__init__()
        self.d_model = d_model
        self.h = h
        assert d_model % h == 0, "d_model must be divisible by h"
        self.d_k = d_model // h
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    @staticmethod
    def attention(query, key, value, mask, dropout: nn.Dropout):
        d_k = query.shape[-1]
        attention_scores = (query @ key.transpose(-2, -1)) / math.sqrt(d_k)
        if mask is not None:
            attention_scores.masked_fill_(mask == 0, -1e9)
        attention_scores = attention_scores.softmax(dim=-1)
        if dropout is not None:
            attention_scores = dropout(attention_scores)
        return (attention_scores @ value), attention_scores

    def forward(self, q, k, v, mask):
        query = self.w_q(q)
        key = self.w_k(k)
        value = self.w_v(v)
        query = query.view(query.shape[0], query.shape[1], self.h, self.d_k).transpose(1, 2)
        key = key.view(key.shape[0], key.shape[1], self.h, self.d_k).transpose(1, 2)
        value = value.view(value.shape[0], value.shape[1], self.h, self.d_k).transpose(1, 2)
        x, self.attention_scores = MultiHeadAttentionBlock.attention(
            query, key, value, mask, self.dropout
        )
        x = x.transpose(1, 2).contiguous().view(x.shape[0], -1, self.h * self.d_k)
        return self.w_o(x)
"""
NORM = """
import torch
from torch import nn

class LayerNormalization(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        m = x.mean(-1, keepdim=True)
        s = torch.sqrt(((x - m) ** 2).sum(-1, keepdim=True) / (x.size(-1) - 1))
        return self.gamma * ((x - m) / (s + self.eps)) + self.beta
"""
FEED_FORWARD = """
from torch import nn

class FeedForwardBlock(nn.Module):
    def __init__(self, d_model, d_ff, dropout):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))

    def forward(self, x):
        return self.net(x)
"""
POSITIONS = """
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, seq_len, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        pe = torch.zeros(seq_len, d_model)
        for pos in range(seq_len):
            for c in range(d_model):
                angle = torch.tensor(pos / 10000 ** ((c - c % 2) / d_model))
                pe[pos, c] = angle.cos() if c % 2 else angle.sin()
        self.register_buffer("table", pe)

    def forward(self, x):
        return self.dropout(x + self.table[: x.size(1)])
"""

RIGHT = [
    ("scale", SDPA),
    ("scale", LOOPS),
    ("keys-and-values", OTHER_NAMES),
    ("keys-and-values", FUSED),
    ("keys-and-values", NO_BIAS),
    ("normalize", NORM),
    ("feed-forward", FEED_FORWARD),
    ("add-positions", POSITIONS),
]

WRONG = [
    ("scale", LOOPS.replace("math.sqrt(d_k)", "d_k"), "divided-by-d-k"),
    (
        "keys-and-values",
        OTHER_NAMES.replace("math.sqrt(d // self.h)", "math.sqrt(d)"),
        "scaled-by-d-model",
    ),
    ("keys-and-values", NO_BIAS.replace("self.w_v(v)", "self.w_k(v)"), "values-from-w-k"),
    (
        "keys-and-values",
        NO_BIAS.replace("x.transpose(1, 2).contiguous().view(x", "x.contiguous().view(x"),
        "join-without-transpose",
    ),
    ("normalize", NORM.replace("(x.size(-1) - 1)", "x.size(-1)"), "biased-deviation"),
    ("normalize", NORM.replace("(s + self.eps)", "s"), "epsilon-forgotten"),
    ("feed-forward", FEED_FORWARD.replace("nn.ReLU()", "nn.GELU()"), "gelu"),
    (
        "add-positions",
        POSITIONS.replace("((c - c % 2) / d_model)", "(c / d_model)"),
        "cosine-with-its-own-frequency",
    ),
]
