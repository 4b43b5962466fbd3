"""What training computes beside the model: optimisers on one flat vector, and R-Drop's loss."""

import copy
from collections.abc import Iterator
from functools import partial
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import decoder_mask, padding_mask, shift_right
from clearhead.compare.proofs.proof import (
    Finding,
    Proof,
    gradient_pairs,
    in_both_precisions,
    largest,
    side_by_side,
)
from clearhead.compare.proofs.tiny import batch, tiny
from clearhead.fast import FlatAdam, FlatMuon, flat_muon
from clearhead.fast.orthogonalize import COEFFICIENTS
from clearhead.models import Transformer
from clearhead.training.objective import consistent_loss

BETAS, DECAY, LR, CLIP = (0.9, 0.98), 0.1, 3e-3, 1.0
# Adam divides by it: so large, rounding noise where there is no gradient makes no step.
EPS = 1e-5
SMOOTHING, CONSISTENCY, SEED = 0.1, 3.0, 5


def proofs() -> Iterator[Proof]:
    """The second optimiser where this torch has one to compare with."""
    yield Proof("FlatAdam, 8 steps", "torch.optim.AdamW", "float32", 1e-5, adam)
    if hasattr(torch.optim, "Muon"):  # since 2.9
        yield Proof("FlatMuon, 4 steps", "torch.optim.Muon and AdamW", "float32", 1e-5, muon)
    yield from in_both_precisions(
        "consistent_loss (R-Drop)", "F.cross_entropy and F.kl_div, as the paper writes it", r_drop
    )


def adam() -> Finding:
    """All parameters after eight steps with clipped gradients and weight decay."""
    ours = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    theirs = copy.deepcopy(ours)
    flat = FlatAdam(ours, BETAS, EPS, DECAY)
    adamw = torch.optim.AdamW(theirs.parameters(), LR, BETAS, EPS, DECAY)
    for _ in range(8):
        x = torch.randn(4, 5)
        for model in (ours, theirs):
            (100 * model(x).square().sum()).backward()
        _step(flat, [adamw], theirs)
    return Finding(largest(zip(ours.parameters(), theirs.parameters(), strict=True)))


def muon() -> Finding:
    """All parameters of a Transformer; its layers' matrices by Muon, everything else by AdamW.

    Both orthogonalise in bfloat16, whose rounding decides about directions that hardly have
    a gradient. So here both do it in float64; what remains is the rest of the step.
    """
    with (
        patch.object(flat_muon, "orthogonalize", exactly),
        patch("torch.optim._muon._zeropower_via_newtonschulz", lambda g, *_: exactly(g[None])[0]),
    ):
        return muon_steps()


def exactly(stack: Tensor) -> Tensor:
    """Five rounds of Newton and Schulz in float64."""
    a, b, c = COEFFICIENTS
    x = stack.double() / torch.linalg.matrix_norm(stack.double(), keepdim=True)
    for _ in range(5):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.to(stack.dtype)


def muon_steps() -> Finding:
    """Four of them."""
    ours = tiny("pre", torch.float32)
    theirs = copy.deepcopy(ours)
    flat = FlatMuon(ours, BETAS, EPS, DECAY)
    inside = {n: p for n, p in theirs.named_parameters() if ".layers." in n and p.ndim == 2}
    rest = [p for name, p in theirs.named_parameters() if name not in inside]
    optimizers = [
        torch.optim.Muon(
            inside.values(), lr=LR, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(rest, LR, BETAS, EPS, DECAY),
    ]
    for _ in range(4):
        src, tgt = batch(ours)
        for model in (ours, theirs):
            says = model.project(written(model, src, tgt)).flatten(0, 1)
            F.nll_loss(says, tgt.flatten()).backward()
        _step(flat, optimizers, theirs)
    return Finding(largest(zip(ours.parameters(), theirs.parameters(), strict=True)))


def _step(
    flat: FlatAdam | FlatMuon, optimizers: list[torch.optim.Optimizer], theirs: nn.Module
) -> None:
    flat.accumulate()
    flat.step(LR, 1.0, CLIP)
    nn.utils.clip_grad_norm_(theirs.parameters(), CLIP)
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()


def written(model: Transformer, src: Tensor, labels: Tensor) -> Tensor:
    """(batch, tgt_len, d_model): what the decoder knows before it hears each label."""
    pad = model.config.pad_id
    mask, tgt = padding_mask(src, pad), shift_right(labels, model.config.bos_id)
    return model.decode(model.encode(src, mask), mask, tgt, decoder_mask(tgt, pad))


def r_drop(dtype: torch.dtype) -> Finding:
    """With dropout, the same for both, because the seed is; all gradients of the model."""
    ours = tiny("pre", dtype).train()
    for module in ours.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.3
    theirs = copy.deepcopy(ours)
    src, labels = batch(ours)

    def ours_says() -> Tensor:
        torch.manual_seed(SEED)
        sides = np.asarray(src), np.asarray(labels)
        losses = consistent_loss(ours, *sides, smoothing=SMOOTHING, consistency=CONSISTENCY)
        return losses.smoothed / losses.tokens

    def theirs_says() -> Tensor:
        torch.manual_seed(SEED)
        return as_written(theirs, src, labels)

    return side_by_side(
        ours_says,
        theirs_says,
        [],
        lambda: gradient_pairs(ours, theirs),
    )


def as_written(model: Transformer, src: Tensor, labels: Tensor) -> Tensor:
    """(L1 + L2) / 2 + α / 2 · (KL(p1 ‖ p2) + KL(p2 ‖ p1)) / 2, the mean of all words."""
    hidden = written(model, src.repeat(2, 1), labels.repeat(2, 1))
    real = labels != model.config.pad_id
    first, second = (
        model.projection_layer.get_submodule("proj")(half[real]) for half in hidden.chunk(2)
    )
    says = partial(F.cross_entropy, target=labels[real], label_smoothing=SMOOTHING)
    p, q = first.log_softmax(1), second.log_softmax(1)
    apart = sum(F.kl_div(*two, reduction="batchmean", log_target=True) for two in ((q, p), (p, q)))
    return (says(first) + says(second)) / 2 + CONSISTENCY / 4 * apart
