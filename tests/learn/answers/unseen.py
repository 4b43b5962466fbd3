"""Answers of a second examiner: forms that were refused, mistakes that were missed or misnamed."""

ATTENTION = """
import math
import torch

def attention(query, key, value, mask, dropout):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = masked_softmax(scores, mask)
    kept = dropout(weights) if dropout is not None else weights
    return kept @ value, weights

def masked_softmax(scores, mask):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    hidden = mask == 0
    return torch.softmax(scores.masked_fill(hidden, -1e9), dim=-1).masked_fill(hidden, 0.0)
"""
IDENTITY = """
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

def attention(query, key, value, mask, dropout):
    eye = torch.eye(key.shape[-2]).expand(*key.shape[:-2], -1, -1)
    weights = sdpa(query, key, eye, attn_mask=mask)
    return (weights if dropout is None else dropout(weights)) @ value, weights
"""
HEADS = """
import math
import torch
from torch import nn

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout, bias=True):
        super().__init__()
        self.h = h
        self.query, self.key = nn.Linear(d_model, d_model, bias), nn.Linear(d_model, d_model, bias)
        self.value, self.out = nn.Linear(d_model, d_model, bias), nn.Linear(d_model, d_model, bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        q, k, v = (torch.stack(x.chunk(self.h, -1), 1)
                   for x in (self.query(q), self.key(k), self.value(v)))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        y = torch.einsum("bhqk,bhkd->bqhd", self.drop(scores.softmax(-1)), v)
        return self.out(y.flatten(2))
"""
SELF = """
from torch import nn
from clearhead.blocks.attention import scaled_dot_product_attention

class SelfAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.W_q, self.W_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)

    def forward(self, x):
        return scaled_dot_product_attention(self.W_q(x), self.W_q(x), self.W_q(x))
"""
FEED_FORWARD = """
import torch
from torch import nn

class FeedForwardBlock(nn.Module):
    def __init__(self, d_model, d_ff, dropout):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
        )

    forward = lambda self, x: self.net(x)
"""
MASK = """
import torch

def look_ahead_mask(size, device=None):
    return torch.ones(1, 1, size, size, device=device).tril().bool()

def decoder_mask(ids, pad_id):
    return (ids != pad_id)[:, None, None] & look_ahead_mask(ids.shape[0], ids.device)
"""
SHIFT = """
import torch

def shift_right(labels, bos_id):
    shifted = torch.zeros(labels.shape)
    shifted[:, 0] = bos_id
    shifted[:, 1:] = labels[:, :-1]
    return shifted
"""
OVERWRITTEN = """
def shift_right(labels, bos_id):
    shifted = labels.clone()
    for i in range(1, shifted.shape[1]):
        shifted[:, i] = shifted[:, i - 1]
    shifted[:, 0] = bos_id
    return shifted
"""
LOSS = """
def smoothed_loss(log_p, labels, smoothing, pad_id):
    real = labels != pad_id
    nll = -log_p.gather(1, labels[:, None]).squeeze(1)
    return ((1 - smoothing) * nll - smoothing * log_p.mean(1))[real].mean().item()
"""
RATE = """
def learning_rate(step, d_model, warmup):
    return d_model ** -0.5 * min(step ** -0.5, step // warmup ** 1.5)
"""
GREEDY = """
import torch

def greedy(next_log_probabilities, bos_id, eos_id, max_length):
    ids = [bos_id]
    for _ in range(max_length):
        token = int(next_log_probabilities(ids).argmax())
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
"""
BEAM = """
def beam_search(next_log_probabilities, bos_id, eos_id, beam_size, max_length):
    beam, finished = [([bos_id], 0.0)], []
    for _ in range(max_length):
        candidates = [
            (ids + [token], score + s)
            for ids, score in beam
            for token, s in enumerate(next_log_probabilities(ids).tolist())
        ]
        best = sorted(candidates, key=lambda c: -c[1])[:beam_size]
        finished += [c for c in best if c[0][-1] == eos_id]
        beam = [c for c in best if c[0][-1] != eos_id]
        if not beam:
            break
    ids, _ = max(finished + beam, key=lambda c: c[1] / (len(c[0]) - 1))
    return [token for token in ids[1:] if token != eos_id]
"""
CACHE = """
import torch
from clearhead.blocks import scaled_dot_product_attention

def attend_cached(query, key, value, cache):
    cache["key"] = torch.cat([cache["key"], key], dim=2)
    cache["value"] = torch.cat([cache["value"], value], dim=2)
    return scaled_dot_product_attention(query, cache["key"], cache["value"])[0]
"""
K_MERS = """
def k_mers(sequence, k, stride):
    return [sequence[i:i + k] for i in range(0, len(sequence) - k + 1, stride)]

def reverse_complement(sequence):
    return "".join({"A": "T", "C": "G", "G": "C", "T": "A", "N": "N"}[b] for b in sequence[::-1])
"""
RANKS = """
def rank_encoding(counts, medians, max_length):
    ranks = (counts / counts.sum() / medians).argsort(descending=True).argsort()
    return [int(rank) for rank, count in zip(ranks, counts) if count > 0][:max_length]
"""
QUANTIZE = """
import torch

def quantize(weight):
    scale = weight.abs().amax(1, keepdim=True) / 127
    return (weight / scale).round().to(torch.int8)
"""
ENCODE = """
from torch import nn

class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, src_pos, tgt_pos, projection_layer):
        super().__init__()
        self.encoder, self.decoder, self.projection_layer = encoder, decoder, projection_layer
        self.src_embed, self.src_pos = src_embed, src_pos
        self.tgt_embed, self.tgt_pos = tgt_embed, tgt_pos

    def encode(self, src, src_mask):
        return self.encoder(self.src_pos(self.src_embed(src)), src_mask)

    def decode(self, memory, src_mask, tgt, tgt_mask):
        return self.decoder(self.tgt_pos(self.tgt_embed(tgt)), memory, src_mask, tgt_mask)

    def project(self, x):
        return self.projection_layer(x)
"""
QUIZ = """
rows_sum_to = "B"
queries_come_from = "b)"
swapping_words = "(a)"
scaling_prevents = " b "
"""

RIGHT = [
    ("write-attention", ATTENTION),
    ("write-attention", IDENTITY),
    ("multi-head-attention", HEADS),
    ("write-feed-forward", FEED_FORWARD),
    ("beam-search", BEAM),
    ("quiz-blocks", QUIZ),
]
WRONG = [
    ("write-attention", ATTENTION.replace("value, weights", "value, kept"),
     "weights-after-dropout"),
    ("write-attention", ATTENTION.replace(".masked_fill(hidden, 0.0)", ""),
     "row-without-keys-not-cleared"),
    ("write-attention", ATTENTION.replace("-1e9), dim=-1).masked_fill(hidden, 0.0)",
     "-math.inf), dim=-1)"), "row-without-keys-not-cleared"),
    ("write-attention", ATTENTION.replace("weights = masked", "kept = masked").replace(
     "kept = dropout(weights) if dropout is not None else weights\n    return kept @ value, weights",
     "x = kept @ value\n    return (x if dropout is None else dropout(x)), kept"),
     "dropout-on-the-output"),
    ("write-attention", ATTENTION.replace(" if dropout is not None else weights", ""),
     "dropout-called-without-one"),
    ("scores", ATTENTION.replace("key.transpose(-2, -1)", "key.T"), "all-axes-reversed"),
    ("multi-head-attention", HEADS.replace("self.drop(scores.softmax(-1))", "scores.softmax(-1)")
     .replace("self.out(y.flatten(2))", "self.out(self.drop(y.flatten(2)))"),
     "dropout-on-the-joined-heads"),
    ("multi-head-attention", HEADS.replace("self.out(y.flatten(2))", "self.out(y.flatten(2)), y"),
     "more-than-the-result"),
    ("self-attention", SELF, "one-projection-for-all"),
    ("write-feed-forward", FEED_FORWARD.replace("self.net(x)", "None"), "nothing-returned"),
    ("write-feed-forward", FEED_FORWARD.replace("self.net(x)", "self.net(x.cuda())"),
     "device-fixed"),
    ("look-ahead-mask", MASK, "look-ahead-of-the-batch"),
    ("shift-right", SHIFT, "other-dtype"),
    ("shift-right", OVERWRITTEN, "overwritten-from-the-left"),
    ("label-smoothing", LOSS, "number-instead-of-tensor"),
    ("learning-rate", RATE, "integer-division"),
    ("greedy", GREEDY.replace("return ids[1:]", "ids[1:]"), "nothing-returned"),
    ("greedy", GREEDY.replace("next_log_probabilities(ids).argmax()",
     "torch.multinomial(next_log_probabilities(ids).exp(), 1)"), "drawn-at-random"),
    ("beam-search", BEAM.replace("finished + beam", "finished"), "unfinished-forgotten"),
    ("beam-search", BEAM.replace("score + s", "score * s"), "scores-multiplied"),
    ("bug-beam", BEAM.replace("c[1] / (len(c[0]) - 1)", "c[1] * len(c[0])"),
     "multiplied-by-the-length"),
    ("beam-search", BEAM.replace("finished += [c for c in best if c[0][-1] == eos_id]",
     "finished += [c for c in candidates if c[0][-1] == eos_id]").replace(
     "[:beam_size]", "").replace("!= eos_id]\n        if", "!= eos_id][:beam_size]\n        if"),
     "finished-before-the-cut"),
    ("encode-decode", ENCODE.replace("(self.tgt_pos(self.tgt_embed(tgt)), memory",
     "(memory, self.tgt_pos(self.tgt_embed(tgt))"), "target-and-encoder-output-swapped"),
    ("encode-decode", ENCODE.replace("self.projection_layer(x)", "self.projection_layer(x) / 2"),
     "constant-factor"),
    ("k-mers", K_MERS.replace("stride)]", "stride)][::-1]"), "other-order"),
    ("greedy", GREEDY.replace("break", "return ids[:0]"), "ends-too-early"),
    ("greedy", GREEDY.replace("return ids[1:]", "return ids[1:] + [2]"), "ends-too-late"),
    ("write-feed-forward", FEED_FORWARD.replace("self.net(x)", "self.net(x.sigmoid_())"),
     "input-changed-in-place"),
    ("cache", CACHE, "empty-cache-read"),
    ("k-mers", K_MERS.replace(', "N": "N"', ""), "unknown-bases-fail"),
    ("k-mers", K_MERS.replace('"A": "T"', '"A": "U"'), "uracil"),
    ("rank-encoding", RANKS, "ranks-instead-of-genes"),
    ("quantize", QUANTIZE, "scale-not-returned"),
    ("quantize", QUANTIZE.replace("return ", "integers = "), "nothing-returned"),
]  # fmt: skip
