"""Probes of attention, masks and heads."""

import inspect
from collections.abc import Callable

import torch
from torch import Tensor

from clearhead.learn.content.probes.draws import EVERYTHING, see_draws, see_mean
from clearhead.learn.run import EITHER_WEIGHTS, Run, probe


def key_mask(run: Run) -> Tensor:
    """(batch, 1, 1, key): every sentence hides another number of keys, at least one stays."""
    lengths = torch.tensor([max(1, run.key - 1 - i) for i in range(run.batch)])
    return (torch.arange(run.key) < lengths[:, None])[:, None, None, :]


def rows_sum_to_one(run: Run, weights: object) -> None:
    """The law that every row of weights is a probability distribution."""
    if isinstance(weights, Tensor) and weights.dim():
        sums = weights.sum(-1)
        worst = float(sums.flatten()[(sums - 1).abs().argmax()])
        holds = bool(torch.allclose(sums, torch.ones_like(sums), atol=1e-4))
        run.law("every row of the weights sums to 1", holds, f"a row sums to {worst:.4g}")


def causal(run: Run) -> Tensor:
    """(1, 1, query, key): query i sees keys 0 to i, and never the last one."""
    mask = torch.ones(run.query, run.key, dtype=torch.bool).tril()
    mask[:, -1] = False
    return mask[None, None]


@probe(  # no d_k is a square: a rounded root is wrong for every size
    {"batch": 2, "h": 3, "query": 5, "key": 7, "d_k": 6},
    {"batch": 1, "h": 2, "query": 6, "key": 3, "d_k": 5},
    {"batch": 4, "h": 1, "query": 2, "key": 3, "d_k": 8},
)
def attention(run: Run) -> None:
    """`attention(query, key, value, mask, dropout)`."""
    attend = run.get("attention")
    q = run.normal(run.batch, run.h, run.query, run.d_k)
    k = run.normal(run.batch, run.h, run.key, run.d_k)
    v = run.normal(run.batch, run.h, run.key, run.d_k)
    rows_sum_to_one(run, _second(run.see("without a mask", attend, q, k, v, None, None)))
    mask = key_mask(run)
    masked = _second(run.see("with a mask", attend, q, k, v, mask, None))
    rows_sum_to_one(run, masked)
    if isinstance(masked, Tensor) and masked.shape[-1] == run.key:
        hidden = masked.masked_fill(mask, 0.0).abs().max()
        run.law("hidden keys have weight 0", bool(hidden < 1e-6), f"one has {float(hidden):.3g}")
        _among_low_scores(run, attend, v, mask)
    run.see("with a look-ahead mask", attend, q, k, v, causal(run), None)
    dropped = "output with dropout of every second key"
    run.see(dropped, _output_of(attend), q, k, v, mask, _every_second)
    if run.given:  # sources differ in whether they return the weights before or after dropout
        run.adapted.add(EITHER_WEIGHTS)
    if EITHER_WEIGHTS not in run.adapted:
        _before_dropout(run, masked, _second(attend(q, k, v, mask, _every_second)))
    if "masked_softmax" in run.answer:  # else the answer does without it
        _masked_softmax(run)


def _among_low_scores(run: Run, attend: Callable[..., object], v: Tensor, mask: Tensor) -> None:
    """Every visible score is below -2,000, where a hidden score of -100 would be the highest."""
    q = torch.full((run.batch, run.h, run.query, run.d_k), -30.0, dtype=run.dtype)
    k = torch.full((run.batch, run.h, run.key, run.d_k), 30.0, dtype=run.dtype)
    weights = _second(attend(q, k, v, mask, None))
    if isinstance(weights, Tensor) and weights.shape == (*q.shape[:3], run.key):
        share = float(weights.masked_fill(~mask, 0.0).sum(-1).min())
        law = "the visible keys have all the weight, however low their scores are"
        run.law(law, share > 0.99, f"they have {share:.3g} of it")


def _before_dropout(run: Run, without: object, weights: object) -> None:
    if isinstance(weights, Tensor) and isinstance(without, Tensor):
        same = weights.shape == without.shape and torch.allclose(weights, without, atol=1e-4)
        run.law("the weights are returned as they were before dropout", same)


def _masked_softmax(run: Run) -> None:
    """What it returns by itself: `attention` may not call it, or with other arguments."""
    function = run.get("masked_softmax")
    scores, mask = run.normal(1, 1, 3, 3), torch.ones(1, 1, 3, 3, dtype=torch.bool).tril(-1)
    try:
        inspect.signature(function).bind(scores, mask)
    except TypeError:  # a function of the answer's own
        return
    rows = function(scores, mask)[0, 0]
    detail = f"its weights are {rows[0].tolist()}"
    run.law("a row without visible keys becomes zeros", bool((rows[0] == 0).all()), detail)
    expected = scores.masked_fill(~mask, -torch.inf).softmax(-1)[0, 0, 1:]
    holds = bool(torch.allclose(rows[1:], expected, atol=1e-3))
    run.law("masked_softmax distributes a weight of 1 over the visible keys", holds)


def _every_second(weights: Tensor) -> Tensor:
    """A dropout that hits the same keys every time."""
    return weights * 2 * (torch.arange(weights.shape[-1]) % 2)


@probe(
    {"batch": 2, "seq_len": 5, "d_model": 7},
    {"batch": 1, "seq_len": 4, "d_model": 6},
    {"batch": 3, "seq_len": 8, "d_model": 5},
)
def self_attention(run: Run) -> None:
    """`SelfAttention(d_model)`."""
    block = run.block("SelfAttention", run.d_model)
    x = run.normal(run.batch, run.seq_len, run.d_model)
    rows_sum_to_one(run, _second(run.see("output and weights", block, x)))


@probe(
    {"batch": 2, "h": 3, "query": 5, "key": 7, "d_k": 6},
    {"batch": 1, "h": 2, "query": 6, "key": 3, "d_k": 5},
    {"batch": 4, "h": 5, "query": 2, "key": 8, "d_k": 3},
)
def multi_head_attention(run: Run) -> None:
    """`MultiHeadAttentionBlock(d_model, h, dropout)`."""
    d_model = run.h * run.d_k
    block = run.block("MultiHeadAttentionBlock", d_model, run.h, 0.0)
    x = run.normal(run.batch, run.query, d_model)
    k = run.normal(run.batch, run.key, d_model)
    v = run.normal(run.batch, run.key, d_model)
    run.see("output without a mask", block, x, k, v, None)
    run.see("output with a padding mask", block, x, k, v, key_mask(run))
    look_ahead = torch.ones(run.query, run.query, dtype=torch.bool).tril()[None, None]
    before = run.see("output with a look-ahead mask", block, x, x, x, look_ahead)
    _causality(run, block, x, look_ahead, before)
    dropped = run.block("MultiHeadAttentionBlock", d_model, run.h, EVERYTHING, training=True)
    run.see("output in training with dropout 1", dropped, x, k, v, None)
    half = run.block("MultiHeadAttentionBlock", d_model, run.h, 0.5, training=True)
    see_draws(run, half, x, k, v, None)
    see_mean(run, half, x, k, v, None)
    still = run.block("MultiHeadAttentionBlock", d_model, run.h, 1.0)
    run.see("output in evaluation with dropout 1", still, x, k, v, None)


def _causality(run: Run, block: torch.nn.Module, x: Tensor, mask: Tensor, before: object) -> None:
    changed = x.clone()
    changed[:, -1] += 1.0
    with torch.no_grad():
        after = block(changed, changed, changed, mask)
    if isinstance(before, Tensor) and isinstance(after, Tensor) and after.shape == x.shape:
        gap = (after - before)[:, :-1].abs().max()
        law = "with a look-ahead mask the last token does not change earlier outputs"
        run.law(law, bool(gap < 1e-4), f"they change by up to {float(gap):.3g}")


@probe({"batch": 3, "tgt_len": 5}, {"batch": 1, "tgt_len": 4}, {"batch": 2, "tgt_len": 7})
def masks(run: Run) -> None:
    """`padding_mask`, `look_ahead_mask`, `decoder_mask`."""
    ids, pad_id = _padded(run)
    run.see("padding_mask", run.get("padding_mask"), ids, pad_id)
    run.see("look_ahead_mask", run.get("look_ahead_mask"), run.tgt_len)
    run.see("decoder_mask", run.get("decoder_mask"), ids, pad_id)
    for name in ("padding_mask", "look_ahead_mask", "decoder_mask"):
        run.seen[name] = _as_boolean(run.seen[name])


def _as_boolean(mask: object) -> object:
    """A mask of 0 and 1 is a mask too."""
    if isinstance(mask, Tensor) and bool(((mask == 0) | (mask == 1)).all()):
        return mask.bool()
    return mask


@probe({"batch": 3, "tgt_len": 5}, {"batch": 1, "tgt_len": 4}, {"batch": 2, "tgt_len": 7})
def shift_right(run: Run) -> None:
    """`shift_right(labels, bos_id)`."""
    run.see("decoder input", run.get("shift_right"), _padded(run)[0], 10 + run.batch)


def _padded(run: Run) -> tuple[Tensor, int]:
    """Ids with padding, and its id, which differs from case to case; id 0 occurs as a token.

    Every sentence has another length, and there are tokens with smaller and with larger ids.
    """
    pad_id = 4 + run.batch
    ids = run.ids(run.batch, run.tgt_len, low=2, high=9)
    ids[ids == pad_id] = 9
    ids[:, 0], ids[:, 1] = 9, 0
    lengths = torch.tensor([run.tgt_len - i for i in range(run.batch)])
    return ids.masked_fill(torch.arange(run.tgt_len) >= lengths[:, None], pad_id), pad_id


def _output_of(attend: Callable[..., object]) -> Callable[..., object]:
    def output(*inputs: object) -> object:
        both = attend(*inputs)
        return both[0] if isinstance(both, tuple | list) else both

    return output


def _second(output: object) -> object:
    return output[1] if isinstance(output, tuple | list) and len(output) > 1 else None
