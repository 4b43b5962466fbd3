"""Losses, schedules, decoding, BLEU, quantization and encodings of sequences."""

CROSS_ENTROPY = """
import torch.nn as nn

def smoothed_loss(log_p, labels, smoothing, pad_id):
    return nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=smoothing)(log_p, labels)
"""
ONE_HOT = """
import torch

def smoothed_loss(log_p, labels, smoothing, pad_id):
    n, vocab = log_p.shape
    target = torch.full_like(log_p, smoothing / vocab)
    target.scatter_add_(1, labels.unsqueeze(1), torch.full_like(log_p[:, :1], 1 - smoothing))
    keep = (labels != pad_id).float()
    loss = -(target * log_p).sum(dim=1)
    return (loss * keep).sum() / keep.sum()
"""
RATE = """
def learning_rate(step, d_model, warmup):
    if step < warmup:
        return step / (warmup ** 1.5 * d_model ** 0.5)
    return 1 / (d_model ** 0.5 * step ** 0.5)
"""
GREEDY = """
import torch

def greedy(next_log_probabilities, bos_id, eos_id, max_length):
    out = [bos_id]
    while len(out) - 1 < max_length:
        logp = next_log_probabilities(out)
        nxt = torch.topk(logp, 1).indices[0].item()
        if nxt == eos_id:
            return out[1:]
        out = out + [nxt]
    return out[1:]
"""
BEAM = """
import heapq

def beam_search(model, bos, eos, beam_size, max_length):
    live = [(0.0, [bos])]
    done = []
    for step in range(max_length):
        pool = []
        for s, seq in live:
            logp = model(seq)
            values, tokens = logp.topk(min(beam_size, logp.numel()))
            pool += [(s + v.item(), seq + [t.item()]) for v, t in zip(values, tokens)]
        live = []
        for s, seq in heapq.nlargest(beam_size, pool, key=lambda p: p[0]):
            (done if seq[-1] == eos else live).append((s, seq))
        if not live:
            break
    best = max(done + live, key=lambda p: p[0] / (len(p[1]) - 1))[1][1:]
    return best[:-1] if best and best[-1] == eos else best
"""
CACHE = """
import torch
import torch.nn.functional as F

def attend_cached(query, key, value, cache):
    cache.setdefault("k", []).append(key)
    cache.setdefault("v", []).append(value)
    k, v = torch.cat(cache["k"], 2), torch.cat(cache["v"], 2)
    return F.scaled_dot_product_attention(query, k, v)
"""
BLEU = """
import math

def ngrams(words, n):
    return [" ".join(words[i:i + n]) for i in range(len(words) - n + 1)]

def clipped_precision(hypothesis, reference, n):
    ours, theirs = ngrams(hypothesis, n), ngrams(reference, n)
    if not ours:
        return 0.0
    matches = sum(min(ours.count(g), theirs.count(g)) for g in set(ours))
    return matches / len(ours)

def brevity_penalty(c, r):
    return min(1.0, math.exp(1 - r / c))
"""
QUANTIZE = """
import torch

def quantize(weight):
    scales, rows = [], []
    for row in weight:
        scale = row.abs().max() / 127
        scales.append(scale)
        rows.append(torch.clamp(torch.round(row / scale), -127, 127))
    return torch.stack(rows).type(torch.int8), torch.stack(scales).unsqueeze(1)
"""
LABELS = """
import torch

def masked_labels(ids, chosen, ignored):
    labels = ids.clone()
    labels[~chosen] = ignored
    return labels

def next_token_pairs(ids):
    return ids[:, 0:-1].clone(), ids[:, 1:].clone()
"""
K_MERS = """
def k_mers(sequence, k, stride):
    found = []
    i = 0
    while i + k <= len(sequence):
        found.append(sequence[i:i + k])
        i += stride
    return found

def reverse_complement(sequence):
    table = str.maketrans("ACGT", "TGCA")
    return sequence.translate(table)[::-1]
"""
RANKS = """
def rank_encoding(counts, medians, max_length):
    total = counts.sum().item()
    genes = [g for g in range(len(counts)) if counts[g] > 0]
    genes.sort(key=lambda g: -(counts[g].item() / total / medians[g].item()))
    return genes[:max_length]
"""

RIGHT = [
    ("label-smoothing", CROSS_ENTROPY),
    ("label-smoothing", ONE_HOT),
    ("learning-rate", RATE),
    ("greedy", GREEDY),
    ("beam-search", BEAM),
    ("cache", CACHE),
    ("bleu-parts", BLEU),
    ("quantize", QUANTIZE),
    ("language-labels", LABELS),
    ("k-mers", K_MERS),
    ("rank-encoding", RANKS),
]

WRONG = [
    ("label-smoothing", CROSS_ENTROPY.replace("ignore_index=pad_id, ", ""), "padding-counted"),
    ("label-smoothing", CROSS_ENTROPY.replace("=smoothing)", "=smoothing, reduction='sum')"), "summed"),
    ("label-smoothing", ONE_HOT.replace("keep.sum()", "n"), "divided-by-all-tokens"),
    ("label-smoothing", ONE_HOT.replace("-(target * log_p)", "(target * log_p)"), "sign-missing"),
    ("label-smoothing", ONE_HOT.replace("smoothing / vocab)", "smoothing / (vocab - 1))"
     ).replace("target.scatter_add_(1, labels.unsqueeze(1), torch.full_like(log_p[:, :1], 1 - smoothing))",
     "target.scatter_(1, labels.unsqueeze(1), 1 - smoothing)"), "uniform-over-the-others"),
    ("learning-rate", RATE.replace("if step < warmup", "if step > warmup"),
     "maximum-instead-of-minimum"),
    ("learning-rate", RATE.replace("if step < warmup", "if step < 0"), "no-warm-up"),
    ("learning-rate", RATE.replace("* step ** 0.5)", "* step)"), "falls-too-fast"),
    ("greedy", GREEDY.replace("return out[1:]\n        out = out", "break\n        out = out")
     .replace("len(out) - 1 < max_length", "len(out) < max_length"), "one-token-too-few"),
    ("greedy", GREEDY.replace("return out[1:]", "return out"), "bos-in-the-result"),
    ("greedy", GREEDY.replace("next_log_probabilities(out)", "next_log_probabilities(out[-1:])"),
     "only-the-last-token"),
    ("greedy", GREEDY.replace("        if nxt == eos_id:\n            return out[1:]\n        out = out + [nxt]",
     "        out = out + [nxt]\n        if nxt == eos_id:\n            return out[1:]"),
     "eos-in-the-result"),
    ("beam-search", BEAM.replace("p[0] / (len(p[1]) - 1)", "p[0]"), "not-normalized"),
    ("beam-search", BEAM.replace("s + v.item()", "v.item()"), "scores-not-accumulated"),
    ("beam-search", BEAM.replace("if not live", "if done or not live"), "first-finished-wins"),
    ("beam-search", BEAM.replace("p[0] / (len(p[1]) - 1)", "p[0] / len(p[1])"), "bos-in-the-length"),
    ("beam-search", BEAM.replace("done + live", "done or live"), "unfinished-forgotten"),
    ("cache", CACHE.replace("torch.cat(cache[\"k\"], 2), torch.cat(cache[\"v\"], 2)", "key, value"),
     "cache-not-written"),
    ("cache", CACHE.replace("torch.cat(cache[\"k\"], 2)", "torch.cat(cache[\"k\"][::-1], 2)"),
     "values-in-reverse"),
    ("bleu-parts", BLEU.replace("min(ours.count(g), theirs.count(g))", "ours.count(g) * (g in theirs)"),
     "not-clipped"),
    ("bleu-parts", BLEU.replace("matches / len(ours)", "matches / max(1, len(theirs))"), "recall"),
    ("bleu-parts", BLEU.replace("1 - r / c", "1 - c / r"), "ratio-inverted"),
    ("quantize", QUANTIZE.replace("torch.round(row / scale)", "row / scale"), "cut-instead-of-rounded"),
    ("quantize", QUANTIZE.replace("row.abs().max()", "row.max()"), "sign-forgotten-in-the-scale"),
    ("quantize", QUANTIZE.replace("row.abs().max()", "weight.abs().max()"), "one-scale-for-all"),
    ("language-labels", LABELS.replace("ids[:, 0:-1].clone(), ids[:, 1:]", "ids[:, 1:].clone(), ids[:, :-1]"),
     "previous-token"),
    ("language-labels", LABELS.replace("[~chosen]", "[chosen]"), "choice-inverted"),
    ("k-mers", K_MERS.replace("i + k <= len", "i + k < len"), "last-k-mer-missing"),
    ("k-mers", K_MERS.replace("i += stride", "i += 1"), "stride-ignored"),
    ("k-mers", K_MERS.replace("[::-1]", ""), "not-reversed"),
    ("rank-encoding", RANKS.replace("-(counts", "(counts"), "least-expressed-first"),
    ("rank-encoding", RANKS.replace(" / medians[g].item()", ""), "medians-ignored"),
]  # fmt: skip
