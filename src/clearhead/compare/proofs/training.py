"""Optimizers on one flat vector, and the loss of R-Drop."""

import copy
from collections.abc import Iterator
from functools import partial
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import shift_right
from clearhead.compare.proofs.fixtures import decode, small_batch, small_transformer
from clearhead.compare.proofs.proof import (
    Deviation,
    Proof,
    compare_modules,
    in_both_precisions,
    largest_difference,
)
from clearhead.fast import FlatAdam, FlatMuon, flat_muon
from clearhead.fast.flat_muon import COEFFICIENTS
from clearhead.models import Transformer
from clearhead.training.objective import r_drop_loss

BETAS, DECAY, LR, CLIP = (0.9, 0.98), 0.1, 3e-3, 1.0
# Adam divides by √v + ε: a large ε keeps rounding noise in tiny gradients from causing a step.
EPS = 1e-5
SMOOTHING, CONSISTENCY, SEED = 0.1, 3.0, 5


def proofs() -> Iterator[Proof]:
    """Muon only where this torch has an implementation to compare with."""
    yield Proof("FlatAdam, 8 steps", "torch.optim.AdamW", "float32", 1e-5, adam)
    if hasattr(torch.optim, "Muon"):  # since 2.9
        yield Proof("FlatMuon, 4 steps", "torch.optim.Muon and AdamW", "float32", 1e-5, muon)
    yield from in_both_precisions(
        "r_drop_loss", "F.cross_entropy and F.kl_div, as the paper writes it", r_drop
    )


def adam() -> Deviation:
    """All parameters after eight steps with gradient clipping and weight decay."""
    ours = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    theirs = copy.deepcopy(ours)
    flat = FlatAdam(ours, BETAS, EPS, DECAY)
    adamw = torch.optim.AdamW(theirs.parameters(), LR, BETAS, EPS, DECAY)
    for _ in range(8):
        x = torch.randn(4, 5)
        for model in (ours, theirs):
            (100 * model(x).square().sum()).backward()
        _step(flat, [adamw], theirs)
    return _parameter_deviation(ours, theirs)


def muon() -> Deviation:
    """All parameters of a Transformer: matrices of its layers by Muon, the others by AdamW.

    Both implementations orthogonalise in bfloat16, whose rounding is decisive in directions with
    almost no gradient. Here both use float64, so that the rest of the step is compared.
    """
    theirs = "torch.optim._muon._zeropower_via_newtonschulz"
    with (
        patch.object(flat_muon, "orthogonalize", orthogonalize_exactly),
        patch(theirs, lambda g, *_: orthogonalize_exactly(g[None])[0]),
    ):
        return _muon_steps()


def orthogonalize_exactly(stack: Tensor) -> Tensor:
    """Five Newton-Schulz iterations in float64."""
    a, b, c = COEFFICIENTS
    x = stack.double() / torch.linalg.matrix_norm(stack.double(), keepdim=True)
    for _ in range(5):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.to(stack.dtype)


def _muon_steps() -> Deviation:
    ours = small_transformer("pre", torch.float32)
    theirs = copy.deepcopy(ours)
    flat = FlatMuon(ours, BETAS, EPS, DECAY)
    matrices = {n: p for n, p in theirs.named_parameters() if ".layers." in n and p.ndim == 2}
    others = [p for name, p in theirs.named_parameters() if name not in matrices]
    optimizers = [
        torch.optim.Muon(
            matrices.values(), lr=LR, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(others, LR, BETAS, EPS, DECAY),
    ]
    for _ in range(4):
        src, tgt = small_batch(ours)
        for model in (ours, theirs):
            log_probabilities = model.project(_teacher_forced(model, src, tgt)).flatten(0, 1)
            F.nll_loss(log_probabilities, tgt.flatten()).backward()
        _step(flat, optimizers, theirs)
    return _parameter_deviation(ours, theirs)


def _step(
    flat: FlatAdam | FlatMuon, optimizers: list[torch.optim.Optimizer], theirs: nn.Module
) -> None:
    flat.accumulate()
    flat.step(LR, 1.0, CLIP)
    nn.utils.clip_grad_norm_(theirs.parameters(), CLIP)
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()


def _parameter_deviation(ours: nn.Module, theirs: nn.Module) -> Deviation:
    return Deviation(largest_difference(zip(ours.parameters(), theirs.parameters(), strict=True)))


def _teacher_forced(model: Transformer, src: Tensor, labels: Tensor) -> Tensor:
    """The decoder's output before each label: (batch, tgt_len, d_model)."""
    return decode(model, src, shift_right(labels, model.config.bos_id))


def r_drop(dtype: torch.dtype) -> Deviation:
    """Loss and all gradients, with the same dropout masks on both sides."""
    ours = small_transformer("pre", dtype).train()
    for module in ours.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.3
    theirs = copy.deepcopy(ours)
    src, labels = small_batch(ours)

    def our_loss() -> Tensor:
        torch.manual_seed(SEED)
        arrays = np.asarray(src), np.asarray(labels)
        losses = r_drop_loss(ours, *arrays, smoothing=SMOOTHING, weight=CONSISTENCY)
        return losses.smoothed / losses.tokens

    def their_loss() -> Tensor:
        torch.manual_seed(SEED)
        return r_drop_of_the_paper(theirs, src, labels)

    return compare_modules(ours, theirs, (our_loss, their_loss))


def r_drop_of_the_paper(model: Transformer, src: Tensor, labels: Tensor) -> Tensor:
    """(L1 + L2) / 2 + α / 2 · (KL(p1 ‖ p2) + KL(p2 ‖ p1)) / 2, the mean over tokens."""
    hidden = _teacher_forced(model, src.repeat(2, 1), labels.repeat(2, 1))
    real = labels != model.config.pad_id
    first, second = (
        model.projection_layer.get_submodule("proj")(half[real]) for half in hidden.chunk(2)
    )
    loss = partial(F.cross_entropy, target=labels[real], label_smoothing=SMOOTHING)
    p, q = first.log_softmax(1), second.log_softmax(1)
    kl = sum(F.kl_div(*two, reduction="batchmean", log_target=True) for two in ((q, p), (p, q)))
    return (loss(first) + loss(second)) / 2 + CONSISTENCY / 4 * kl
