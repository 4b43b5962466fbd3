"""Greedy search: always the likeliest next token."""

import math

import torch
from torch import Tensor

from clearhead.decoding.hypothesis import Hypothesis, normalize
from clearhead.decoding.next_token import NextToken

# Finished sentences leave when this share of the batch is finished: leaving
# copies the cache of those who stay.
LEAVING = 0.25


def greedy_search(engine: NextToken, limits: Tensor) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence that `engine.decoder` was started with.

    Shape: limits: (batch,), the most tokens of each, end sign included.
    """
    batch, eos_id = limits.shape[0], engine.config.eos_id
    written = limits.new_zeros(batch, int(limits.max()))  # (batch, longest limit)
    lengths = torch.zeros_like(limits)  # 0 = still open
    scores = torch.zeros(batch, device=limits.device)
    rows = torch.arange(batch, device=limits.device)  # the sentence of each row in the decoder
    last = torch.full_like(limits, engine.config.bos_id)
    length = 0
    while rows.numel():
        last, gain = choose(engine, last, written[rows, :length])
        length += 1
        is_open = lengths[rows] == 0
        written[rows, length - 1] = last
        scores[rows] += gain.where(is_open, 0.0)
        ends = is_open & ((last == eos_id) | (limits[rows] == length))
        lengths[rows[ends]] = length
        staying = (is_open & ~ends).nonzero().squeeze(1)
        if staying.numel() <= (1 - LEAVING) * rows.numel():
            rows, last = rows[staying], last[staying]
            engine.decoder.keep(staying)
    return [
        [_hypothesis(engine, ids[:end], score)]
        for ids, end, score in zip(written.tolist(), lengths.tolist(), scores.tolist(), strict=True)
    ]


def choose(engine: NextToken, last: Tensor, history: Tensor) -> tuple[Tensor, Tensor]:
    """The likeliest next token of each row, and its log-probability (NaN if not asked for)."""
    logits = engine.logits(last)
    if not engine.options.scores:
        engine.ban(logits, history)
        return logits.argmax(dim=1), torch.full_like(last, math.nan, dtype=torch.float)
    total = logits.logsumexp(dim=1)
    engine.ban(logits, history)
    best, token = logits.max(dim=1)
    return token, best - total


def _hypothesis(engine: NextToken, ids: list[int], score: float) -> Hypothesis:
    finished = ids[-1] == engine.config.eos_id
    normalized = normalize(score, len(ids), engine.options.length_penalty)
    return Hypothesis(ids[:-1] if finished else ids, score, normalized, finished)
