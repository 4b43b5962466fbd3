"""What a width costs and gives, in sentences that follow from the numbers."""

from collections.abc import Iterator

import numpy as np

from clearhead.compare.rnn.findings import BLEU_MARGIN, number
from clearhead.compare.width.study import Numbers, Width


def sentences(found: Numbers) -> Iterator[str]:
    """Costs from the narrowest to the widest; what was best after the same time."""
    narrow, wide = found.widths[0], found.widths[-1]
    yield _costs(narrow, wide)
    yield _after_the_same_time(found)
    yield from _from_the_same_tokens(found)


def _costs(narrow: Width, wide: Width) -> str:
    ratio = {
        "width": wide.d_model / narrow.d_model,
        "parameters": wide.counts.parameters / narrow.counts.parameters,
        "arithmetic a token": wide.counts.flop / narrow.counts.flop,
        "memory of training (weights, gradients, moments)": wide.counts.training_mb
        / narrow.counts.training_mb,
        "time of a training step": narrow.tokens_per_second / wide.tokens_per_second,
    }
    parts = ", ".join(f"{what} × {number(value)}" for what, value in ratio.items())
    return f"From d_model {narrow.d_model} to {wide.d_model}: {parts}."


def _after_the_same_time(found: Numbers) -> str:
    best = max(found.widths, key=lambda rung: rung.curve[-1].bleu)
    ranked = [r for r in found.widths if best.curve[-1].bleu - r.curve[-1].bleu <= BLEU_MARGIN]
    narrowest, wide = ranked[0], found.widths[-1]
    seconds = f"After {found.study.course.seconds:.0f} s of learning each"
    text = f"{seconds}, d_model {best.d_model} has the highest BLEU ({best.curve[-1].bleu:.1f})"
    if narrowest is not best:
        text += f"; d_model {narrowest.d_model} is within {BLEU_MARGIN:g} of it"
    if narrowest.d_model < wide.d_model:
        text += (
            f". The widest, {wide.d_model}, has {wide.curve[-1].bleu:.1f}: it has read "
            f"{wide.curve[-1].tokens:,} tokens, d_model {narrowest.d_model} "
            f"{narrowest.curve[-1].tokens:,}"
        )
    return text + "."


def _from_the_same_tokens(found: Numbers) -> Iterator[str]:
    tokens, losses = common_tokens(found.widths)
    if len(losses) < len(found.widths):
        return
    best = min(losses, key=losses.__getitem__)
    listed = ", ".join(f"{width}: {loss:.2f}" for width, loss in losses.items())
    yield (
        f"From the same {tokens:,} tokens, which all have read, d_model {best} learnt most "
        f"(nats a token on new sentences, between two looks by a straight line: {listed})."
    )


def common_tokens(widths: list[Width]) -> tuple[int, dict[int, float]]:
    """The most tokens that all have read, and the loss of each at that point of its curve.

    Whose first look came later than that is left out: nobody knows its loss there.
    """
    tokens = min(rung.curve[-1].tokens for rung in widths)
    seen = [rung for rung in widths if rung.curve[0].tokens <= tokens]
    return tokens, {rung.d_model: _loss_at(rung, tokens) for rung in seen}


def _loss_at(rung: Width, tokens: int) -> float:
    read = [point.tokens for point in rung.curve]
    return float(np.interp(tokens, read, [point.loss for point in rung.curve]))
