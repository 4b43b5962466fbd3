"""Probes of attention, masks and heads."""

import contextlib
from collections.abc import Callable

import torch
from torch import Tensor

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


@probe(
    {"batch": 2, "h": 3, "query": 5, "key": 7, "d_k": 4},
    {"batch": 1, "h": 2, "query": 6, "key": 3, "d_k": 5},
    {"batch": 4, "h": 1, "query": 2, "key": 3, "d_k": 9},
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
    dropped = "output with dropout of every second key"
    run.see(dropped, _output_of(attend), q, k, v, mask, _every_second)
    if run.given:  # sources differ in whether they return the weights before or after dropout
        run.adapted.add(EITHER_WEIGHTS)
    if EITHER_WEIGHTS not in run.adapted:
        _before_dropout(run, masked, _second(attend(q, k, v, mask, _every_second)))
    if "masked_softmax" in run.answer:  # else the answer does without it
        _row_without_keys(run)


def _before_dropout(run: Run, without: object, weights: object) -> None:
    if isinstance(weights, Tensor) and isinstance(without, Tensor):
        same = weights.shape == without.shape and torch.allclose(weights, without, atol=1e-4)
        run.law("the weights are returned as they were before dropout", same)


def _row_without_keys(run: Run) -> None:
    scores, mask = run.normal(1, 1, 2, 3), torch.tensor([[[[True, False, True], [False] * 3]]])
    with contextlib.suppress(NotImplementedError, TypeError):  # it is not what attention() calls
        row = run.get("masked_softmax")(scores, mask)[0, 0, 1]
        detail = f"its weights are {row.tolist()}"
        run.law("a row without visible keys becomes zeros", bool((row == 0).all()), detail)


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
    {"batch": 2, "h": 3, "query": 5, "key": 7, "d_k": 4},
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
    dropped = run.block("MultiHeadAttentionBlock", d_model, run.h, 1.0, training=True)
    shapes = _shapes_at_dropout(dropped)
    run.see("output in training with dropout 1", dropped, x, k, v, None)
    if shapes:  # F.dropout is not seen
        law, found = "dropout is applied to the attention weights", f"to {tuple(shapes[0])}"
        run.law(law, any(run.key in shape for shape in shapes), f"it is applied {found}")
    still = run.block("MultiHeadAttentionBlock", d_model, run.h, 1.0)
    run.see("output in evaluation with dropout 1", still, x, k, v, None)


def _shapes_at_dropout(block: torch.nn.Module) -> list[torch.Size]:
    """Filled in the next pass: the shape of what each `nn.Dropout` of the block receives."""
    shapes: list[torch.Size] = []
    for module in block.modules():
        if isinstance(module, torch.nn.Dropout):
            module.register_forward_pre_hook(lambda _, x: shapes.extend(t.shape for t in x))
    return shapes


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
    ids = _padded(run)
    run.see("padding_mask", run.get("padding_mask"), ids, 9)
    run.see("look_ahead_mask", run.get("look_ahead_mask"), run.tgt_len)
    run.see("decoder_mask", run.get("decoder_mask"), ids, 9)
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
    run.see("decoder input", run.get("shift_right"), _padded(run), 1)


def _padded(run: Run) -> Tensor:
    """Ids 2 to 8 with padding 9: every sentence has another length; id 0 occurs as a token."""
    ids = run.ids(run.batch, run.tgt_len, low=2, high=9)
    ids[:, 1] = 0
    lengths = torch.tensor([run.tgt_len - i for i in range(run.batch)])
    return ids.masked_fill(torch.arange(run.tgt_len) >= lengths[:, None], 9)


def _output_of(attend: Callable[..., object]) -> Callable[..., object]:
    def output(*inputs: object) -> object:
        both = attend(*inputs)
        return both[0] if isinstance(both, tuple) else both

    return output


def _second(output: object) -> object:
    return output[1] if isinstance(output, tuple) and len(output) > 1 else None
