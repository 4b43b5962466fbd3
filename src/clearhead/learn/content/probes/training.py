"""Probes of the loss, the schedule, quantization and labels of language models."""

import torch
from torch import Tensor

from clearhead.learn.run import Run, flat, probe


@probe({"tokens": 9, "vocab": 7, "padded": 3}, {"tokens": 5, "vocab": 11, "padded": 0})
def smoothed_loss(run: Run) -> None:
    """`smoothed_loss(log_p, labels, smoothing, pad_id)`, with and without padding."""
    smoothed_loss = run.get("smoothed_loss")

    # The gradient of the logits: a second log_softmax, as in nn.CrossEntropyLoss, changes nothing.
    def loss(logits: Tensor, labels: Tensor, smoothing: float) -> object:
        return smoothed_loss(logits.log_softmax(-1), labels, smoothing, pad_id)

    pad_id = 2 + run.padded  # neither the first nor the last id, and another one in each case
    logits = run.normal(run.tokens, run.vocab)
    labels = run.ids(run.tokens, high=run.vocab - 1)
    labels[labels == pad_id] = run.vocab - 1
    labels[:2] = torch.tensor([0, run.vocab - 1])
    labels[run.tokens - run.padded :] = pad_id
    run.see("loss", loss, logits, labels, 0.1)
    run.see("loss with smoothing 0.3", loss, logits, labels, 0.3)
    run.see("loss without smoothing", loss, logits, labels, 0.0)


@probe({"d_model": 512, "warmup": 4000}, {"d_model": 64, "warmup": 10})
def learning_rate(run: Run) -> None:
    """`learning_rate(step, d_model, warmup)`."""
    rate = run.get("learning_rate")
    for step in (1, run.warmup // 2, run.warmup, 3 * run.warmup):
        found = float(rate(step, run.d_model, run.warmup))
        run.seen[f"rate of step {step}, times 1,000,000"] = found * 1e6


@probe({"rows": 3, "columns": 5}, {"rows": 4, "columns": 7})
def quantize(run: Run) -> None:
    """`quantize(weight)`."""
    # float64 for every answer: a quotient near an integer must round the same way
    weight = run.normal(run.rows, run.columns).double() * torch.arange(1, run.rows + 1)[:, None]
    with torch.no_grad():
        found = run.see("integers and scale", run.get("quantize"), weight)
    tensors = [x for x in flat(found)[:1] if isinstance(x, Tensor)]
    wide = [x.element_size() for x in tensors if not x.is_floating_point()]
    run.law("an integer takes one byte", wide in ([], [1]), f"it takes {sum(wide)}")


@probe({"batch": 2, "seq_len": 5}, {"batch": 1, "seq_len": 4})
def language_labels(run: Run) -> None:
    """`masked_labels(ids, chosen, ignored)` and `next_token_pairs(ids)`."""
    ids = run.ids(run.batch, run.seq_len, low=1, high=20)
    chosen = run.ids(run.batch, run.seq_len, high=2).bool()
    chosen[:, 1], chosen[:, 2] = True, False
    run.see("masked_labels", run.get("masked_labels"), ids, chosen, -50 * run.batch)
    run.see("next_token_pairs", run.get("next_token_pairs"), ids)
