"""Every proof of `clearhead verify` holds here, and fails if a part is wrong."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clearhead import blocks
from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.proofs import exports, fast, native, torch_nn
from clearhead.compare.proofs.proof import (
    BOUND,
    Deviation,
    compare_functions,
    largest_difference,
    worst,
)
from clearhead.compare.proofs.verification import PEERS, run_proofs
from clearhead.fast import FlatAdam, FlatMuon
from clearhead.training.objective import Losses, r_drop_loss

# `tests/export` tests these with more sentences; the one for CTranslate2 is fast enough for here.
SLOW = ("exported to huggingface", "exported to onnx")


@pytest.mark.parametrize("peer", PEERS)
def test_every_claim_holds(peer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if PEERS[peer].missing:
        pytest.skip(f"{PEERS[peer].missing} not installed")
    monkeypatch.setattr(exports, "SENTENCES", 4)
    fast_ones = [proof for proof in PEERS[peer].proofs() if not proof.ours.endswith(SLOW)]
    missed = [result for result in run_proofs(peer, fast_ones) if not result.met]
    assert not missed and (fast_ones or peer == "onnx")


@pytest.mark.parametrize("peer", PEERS)
def test_claims_are_unique_and_bounds_are_tight(peer: str) -> None:
    if PEERS[peer].missing:
        pytest.skip(f"{PEERS[peer].missing} not installed")
    proofs = list(PEERS[peer].proofs())
    assert len({(proof.claim, proof.precision) for proof in proofs}) == len(proofs)
    for proof in proofs:
        most = exports.BOUND if "exported" in proof.ours else BOUND[torch.float32]
        most = (
            native.BOUND if peer == "native" else most
        )  # whole models, another order of summation
        most = most if proof.relation == "=" else 0.25  # nats of a token
        assert proof.bound <= (BOUND[torch.float64] if proof.precision == "float64" else most)


def heads_without_transpose(self: MultiHeadAttentionBlock, x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], self.h, x.shape[1], self.d_k)


def heads_are_the_fast_axis(self: MultiHeadAttentionBlock, x: Tensor) -> Tensor:
    return x.view(*x.shape[:2], self.d_k, self.h).permute(0, 3, 1, 2)


@pytest.mark.parametrize("wrong", [heads_without_transpose, heads_are_the_fast_axis])
@pytest.mark.parametrize("dtype", BOUND)
def test_a_wrong_attention_exceeds_its_bound(
    wrong: Callable[..., Tensor], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MultiHeadAttentionBlock, "split_heads", wrong)
    for find in (torch_nn.multi_head_attention, partial(torch_nn.stack, torch_nn.DECODER)):
        assert not find(dtype).within(1e-3)
    assert not torch_nn.layer(torch_nn.ENCODER, blocks.ResidualConnection, dtype).within(1e-3)


def test_a_wrong_norm_exceeds_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the biased standard deviation, as torch has it, but not ours."""
    monkeypatch.setattr(blocks, "LayerNormalization", NormWithBiasedStd)
    assert not torch_nn.norm(torch.float64).within(1e-3)


class NormWithBiasedStd(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.alpha, self.bias = nn.Parameter(torch.ones(features)), nn.Parameter(torch.ones(1))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: Tensor) -> Tensor:
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True, correction=0)
        return self.alpha * (x - mean) / std + self.bias


class OtherMomentum(FlatMuon):
    def __init__(self, model: nn.Module, betas: tuple[float, float], eps: float, wd: float) -> None:
        super().__init__(model, betas, eps, wd, momentum=0.94)


class LargerSteps(FlatAdam):
    def step(self, lr: float, scale: float, max_norm: float) -> bool:
        return super().step(1.01 * lr, scale, max_norm)


def r_drop_loss_with(wrong: float, *sides: Any, smoothing: float, weight: float) -> Losses:
    return r_drop_loss(*sides, smoothing=smoothing, weight=wrong)


def test_a_wrong_fast_operation_exceeds_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "FlatAdam", LargerSteps)
    assert not fast.adam().within(BOUND[torch.float32])
    monkeypatch.setattr(fast, "FlatMuon", OtherMomentum)
    assert not fast.muon().within(BOUND[torch.float32])
    monkeypatch.setattr(fast, "CONSISTENCY", 2.0)
    monkeypatch.setattr(fast, "r_drop_loss", partial(r_drop_loss_with, 2.1))
    assert not fast.r_drop(torch.float64).within(1e-3)
    monkeypatch.setattr(blocks, "decoder_mask", lambda ids, pad: None)
    assert not fast.cached_decoding("pre", torch.float64).within(1e-3)


def test_a_wrong_gradient_is_found_where_the_output_is_right() -> None:
    x = torch.randn(3, 4, dtype=torch.float64)
    found = compare_functions(lambda a: a * a, lambda a: a * a.detach(), [x])
    assert found.outputs == 0 and found.gradients is not None and found.gradients > 1e-2
    assert not found.within(1e-3)


def test_nan_is_within_no_bound() -> None:
    nan, one = torch.full((2,), torch.nan), torch.ones(2)
    assert not Deviation(largest_difference([(one, one), (nan, one), (one, one)])).within(1e9)
    assert not worst(
        [Deviation(0.0), Deviation(largest_difference([(nan, nan)])), Deviation(2.0)]
    ).within(1e9)
    assert not Deviation(0.0, torch.nan).within(1e9)


def test_a_single_mismatch_exceeds_every_bound() -> None:
    assert Deviation(0.0, None, 0).within(0.0)
    assert not Deviation(0.0, None, 1).within(1.0)


def test_different_shapes_are_an_error() -> None:
    with pytest.raises(AssertionError, match=r"\(2, 3\) is not \(3,\)"):
        largest_difference([(torch.zeros(2, 3), torch.zeros(3))])
