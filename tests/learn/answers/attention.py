"""Attention, masks and heads in many hands: seeds, tutorials, einsum, one module for each head."""

SEED = """
import math

def attention(query, key, value, mask, dropout):
    d_k = query.shape[-1]
    attention_scores = (query @ key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        attention_scores.masked_fill_(mask == 0, -1e9)
    attention_scores = attention_scores.softmax(dim=-1)
    if dropout is not None:
        attention_scores = dropout(attention_scores)
    return (attention_scores @ value), attention_scores
"""
EINSUM = """
import torch

def attention(q, k, v, mask=None, dropout=None):
    s = torch.einsum("bhid,bhjd->bhij", q, k) * q.size(-1) ** -0.5
    if mask is not None:
        s = torch.where(mask.bool(), s, torch.full_like(s, float("-inf")))
    p = torch.softmax(s, dim=-1)
    d = p if dropout is None else dropout(p)
    return torch.einsum("bhij,bhjd->bhid", d, v), p
"""
BMM = """
import torch
import torch.nn.functional as F

def attention(query, key, value, mask, dropout):
    b, h, n, d = query.size()
    m = key.size(2)
    q, k, v = query.reshape(b * h, n, d), key.reshape(b * h, m, d), value.reshape(b * h, m, -1)
    scores = torch.bmm(q, k.permute(0, 2, 1)).view(b, h, n, m) / torch.sqrt(torch.tensor(d))
    if mask is not None:
        scores = scores + (1.0 - mask.float()) * -10000.0
    weights = F.softmax(scores, dim=3)
    out = dropout(weights) if dropout else weights
    return torch.bmm(out.view(b * h, n, m), v).view(b, h, n, -1), weights
"""
HEAD_MODULES = """
import torch
import torch.nn as nn

class Head(nn.Module):
    def __init__(self, d_model, d_k, dropout):
        super().__init__()
        self.query = nn.Linear(d_model, d_k)
        self.key = nn.Linear(d_model, d_k)
        self.value = nn.Linear(d_model, d_k)
        self.drop = nn.Dropout(dropout)
        self.d_k = d_k

    def forward(self, q, k, v, mask):
        scores = self.query(q) @ self.key(k).transpose(1, 2) / self.d_k ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask[:, 0] == 0, float("-inf"))
        return self.drop(scores.softmax(-1)) @ self.value(v)

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        self.heads = nn.ModuleList([Head(d_model, d_model // h, dropout) for _ in range(h)])
        self.out = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        return self.out(torch.cat([head(q, k, v, mask) for head in self.heads], dim=-1))
"""
HEAD_LISTS = """
import torch
from torch import nn

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        d_k = d_model // h
        self.qs = nn.ModuleList(nn.Linear(d_model, d_k) for _ in range(h))
        self.ks = nn.ModuleList(nn.Linear(d_model, d_k) for _ in range(h))
        self.vs = nn.ModuleList(nn.Linear(d_model, d_k) for _ in range(h))
        self.wo = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        outs = []
        for wq, wk, wv in zip(self.qs, self.ks, self.vs):
            a, b, c = wq(q), wk(k), wv(v)
            s = torch.einsum("bid,bjd->bij", a, b) / (a.shape[-1] ** 0.5)
            if mask is not None:
                s = s.masked_fill(mask.squeeze(1) == 0, -1e9)
            outs.append(self.dropout(torch.softmax(s, 2)) @ c)
        return self.wo(torch.cat(outs, 2))
"""
TORCH_MODULE = """
import torch
from torch import nn

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        self.h = h
        self.mha = nn.MultiheadAttention(d_model, h, dropout=dropout, batch_first=True)

    def forward(self, q, k, v, mask=None):
        if mask is not None:
            mask = ~mask.bool().expand(q.shape[0], self.h, q.shape[1], k.shape[1]).flatten(0, 1)
        return self.mha(q, k, v, attn_mask=mask, need_weights=False)[0]
"""
MATRICES = """
import math
import torch
from torch import nn

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        self.h, self.d_k = h, d_model // h
        self.W_Q = nn.Parameter(torch.randn(d_model, d_model) * 0.02)
        self.W_K = nn.Parameter(torch.randn(d_model, d_model) * 0.02)
        self.W_V = nn.Parameter(torch.randn(d_model, d_model) * 0.02)
        self.W_O = nn.Parameter(torch.randn(d_model, d_model) * 0.02)
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        def heads(x, w):
            return (x @ w).reshape(x.size(0), x.size(1), self.h, self.d_k).permute(0, 2, 1, 3)
        Q, K, V = heads(q, self.W_Q), heads(k, self.W_K), heads(v, self.W_V)
        scores = torch.matmul(Q, K.permute(0, 1, 3, 2)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(torch.logical_not(mask), -1e9)
        x = torch.matmul(self.dropout(torch.softmax(scores, -1)), V).permute(0, 2, 1, 3)
        return x.reshape(x.size(0), x.size(1), -1) @ self.W_O
"""
SDPA_BLOCK = """
import torch.nn.functional as F
from torch import nn

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model: int, h: int, dropout: float):
        super().__init__()
        self.h, self.p = h, dropout
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_proj, self.o_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        B, T, C = q.shape
        q = self.q_proj(q).view(B, T, self.h, C // self.h).transpose(1, 2)
        k = self.k_proj(k).view(B, -1, self.h, C // self.h).transpose(1, 2)
        v = self.v_proj(v).view(B, -1, self.h, C // self.h).transpose(1, 2)
        p = self.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
        return self.o_proj(y.transpose(1, 2).reshape(B, T, C))
"""
SELF = """
import torch
import torch.nn as nn

class SelfAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.scale = d_model ** 0.5

    def forward(self, x):
        scores = torch.bmm(self.query(x), self.key(x).transpose(1, 2)) / self.scale
        weights = nn.Softmax(dim=2)(scores)
        return weights.bmm(self.value(x)), weights
"""
MASKS = """
import torch

def padding_mask(ids, pad_id):
    return (ids != pad_id).unsqueeze(1).unsqueeze(2).int()

def look_ahead_mask(size, device=None):
    mask = torch.triu(torch.ones((1, 1, size, size), device=device), diagonal=1).type(torch.int)
    return mask == 0

def decoder_mask(ids, pad_id):
    return padding_mask(ids, pad_id) & look_ahead_mask(ids.size(1))
"""
ONE_MASK = """
def padding_mask(ids, pad_id):
    b, n = ids.shape
    return ids.ne(pad_id).view(b, 1, 1, n)
"""
POSITIONS_MASK = """
import torch

def look_ahead_mask(size, device=None):
    i = torch.arange(size)
    return (i[None, :] <= i[:, None])[None, None]

def decoder_mask(ids, pad_id):
    return (ids != pad_id)[:, None, None] * look_ahead_mask(ids.shape[-1])
"""
SHIFT = """
import torch

def shift_right(labels, bos_id):
    bos = torch.full((labels.size(0), 1), bos_id, dtype=labels.dtype)
    return torch.cat([bos, labels[:, :-1]], dim=1)
"""

RIGHT = [
    ("scale", SEED),
    ("softmax-axis", EINSUM),
    ("write-attention", EINSUM),
    ("bug-attention", BMM),
    ("scores", SEED.replace("-1e9", "float('-inf')")),
    ("split-heads", HEAD_MODULES),
    ("multi-head-attention", HEAD_MODULES.replace("nn.Linear(d_model, d_k)", "nn.Linear(d_model, d_k, bias=False)")),
    ("multi-head-attention", HEAD_LISTS),
    ("multi-head-attention", TORCH_MODULE),
    ("multi-head-attention", MATRICES),
    ("bug-heads", SDPA_BLOCK),
    ("self-attention", SELF),
    ("look-ahead-mask", MASKS),
    ("padding-mask", ONE_MASK),
    ("look-ahead-mask", POSITIONS_MASK),
    ("shift-right", SHIFT),
    ("shift-right", SHIFT.replace("torch.cat([bos, labels[:, :-1]], dim=1)",
     "torch.nn.functional.pad(labels, (1, -1), value=bos_id)")),
]  # fmt: skip

WRONG = [
    ("write-attention", SEED, "weights-after-dropout"),
    ("scale", SEED.replace("math.sqrt(d_k)", "d_k"), "divided-by-d-k"),
    ("scale", EINSUM.replace(" * q.size(-1) ** -0.5", ""), "not-scaled"),
    ("scale", BMM.replace("torch.tensor(d)", "torch.tensor(d * h)"), "scaled-by-d-model"),
    ("scale", EINSUM.replace("** -0.5", "** 0.5"), "multiplied-by-the-root"),
    ("write-attention", EINSUM.replace("dim=-1", "dim=-2"), "softmax-over-the-queries"),
    ("softmax-axis", EINSUM.replace("dim=-1", "dim=1"), "softmax-over-the-heads"),
    ("hide-scores", SEED.replace("-1e9", "1e9"), "hidden-scores-set-to-plus-1e9"),
    ("hide-scores", SEED.replace("mask == 0", "mask == 1"), "mask-inverted"),
    ("hide-scores", SEED.replace("mask == 0, -1e9", "mask == 0, 0.0"),
     "hidden-scores-set-to-zero"),
    ("hide-scores", SEED.replace("mask == 0, -1e9", "mask == 0, 1e-9"),
     "hidden-scores-set-to-zero"),
    ("hide-scores", SEED.replace("attention_scores.masked_fill_(", "attention_scores.masked_fill("),
     "mask-ignored"),
    ("hide-scores", EINSUM.replace("p = torch.softmax(s, dim=-1)", "p = torch.sigmoid(s)"),
     "sigmoid-instead-of-softmax"),
    ("write-attention", EINSUM.replace("p = torch.softmax(s, dim=-1)", "p = torch.softmax(s, dim=-1).detach()"),
     "gradient-cut"),
    ("write-attention", EINSUM.replace("return torch.einsum(\"bhij,bhjd->bhid\", d, v), p",
     "return torch.einsum(\"bhij,bhjd->bhid\", d, v)"), "weights-not-returned"),
    ("write-attention", BMM.replace("k.permute(0, 2, 1)", "k.reshape(b * h, d, m)"),
     "key-reshaped"),
    ("write-attention", EINSUM.replace("dropout is None else dropout(p)", "True else dropout(p)"),
     "dropout-forgotten"),
    ("multi-head-attention", SDPA_BLOCK.replace("y.transpose(1, 2).reshape(B, T, C)",
     "y.reshape(B, T, C)"), "join-without-transpose"),
    ("multi-head-attention", SDPA_BLOCK.replace(".view(B, T, self.h, C // self.h).transpose(1, 2)",
     ".view(B, self.h, T, C // self.h)").replace(
     ".view(B, -1, self.h, C // self.h).transpose(1, 2)", ".view(B, self.h, -1, C // self.h)"),
     "split-without-transpose"),
    ("multi-head-attention", SDPA_BLOCK.replace("dropout_p=p", "dropout_p=self.p"),
     "dropout-in-evaluation"),
    ("multi-head-attention", SDPA_BLOCK.replace("self.o_proj(y.", "(y."),
     "output-projection-forgotten"),
    ("multi-head-attention", MATRICES.replace("self.W_O\n", "self.W_O + q\n", 2)
     .replace("* 0.02 + q", "* 0.02"), "residual-inside"),
    ("multi-head-attention", MATRICES.replace("math.sqrt(self.d_k)", "math.sqrt(self.h * self.d_k)"),
     "scaled-by-d-model"),
    ("multi-head-attention", MATRICES.replace("torch.softmax(scores, -1)", "torch.softmax(scores, 1)"),
     "softmax-over-the-heads"),
    ("multi-head-attention", HEAD_MODULES.replace("self.d_k ** 0.5", "q.shape[-1] ** 0.5"),
     "scaled-by-d-model"),
    ("multi-head-attention", HEAD_LISTS.replace("torch.cat(outs, 2)", "sum(outs).repeat(1, 1, len(outs))"),
     "heads-added"),
    ("keys-and-values", HEAD_MODULES.replace("self.key(k)", "self.key(q)")
     .replace("self.value(v)", "self.value(q)"), "keys-and-values-of-the-queries"),
    ("self-attention", SELF.replace(" / self.scale", ""), "not-scaled"),
    ("self-attention", SELF.replace("nn.Softmax(dim=2)", "nn.Softmax(dim=1)"),
     "softmax-over-the-queries"),
    ("padding-mask", ONE_MASK.replace("ne(", "eq("), "padding-mask-inverted"),
    ("padding-mask", ONE_MASK.replace("view(b, 1, 1, n)", "view(b, 1, n)"),
     "padding-mask-of-three-axes"),
    ("look-ahead-mask", POSITIONS_MASK.replace("<=", "<"), "own-position-hidden"),
    ("look-ahead-mask", POSITIONS_MASK.replace("<=", ">="), "upper-triangle"),
    ("look-ahead-mask", MASKS.replace("diagonal=1", "diagonal=0"), "own-position-hidden"),
    ("look-ahead-mask", MASKS.replace("mask == 0", "mask == 1"), "future-marked-true"),
    ("shift-right", SHIFT.replace("[bos, labels[:, :-1]]", "[labels[:, 1:], bos]"),
     "shifted-left"),
    ("shift-right", SHIFT.replace("labels[:, :-1]", "labels"), "bos-prepended"),
    ("shift-right", SHIFT.replace("labels[:, :-1]", "labels[:, 1:]"), "first-label-overwritten"),
]  # fmt: skip
