"""What `clearhead verify` claims holds here, and a wrong part would not pass."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.proofs import (
    exported,
    fast_decoding,
    learning,
    precisions,
    torch_layers,
    torch_nn,
)
from clearhead.compare.proofs.peers import PEERS
from clearhead.compare.proofs.proof import BOUND, Finding, largest, side_by_side, worst
from clearhead.compare.proofs.verifying import attempts
from clearhead.fast import FlatAdam, FlatMuon
from clearhead.fast.incremental import IncrementalDecoder
from clearhead.training.objective import Losses, consistent_loss

# `tests/export` tries these, with more sentences; CTranslate2's is quick enough to be tried here.
SLOW = ("exported to huggingface", "exported to onnx")


@pytest.mark.parametrize("peer", PEERS)
def test_every_claim_holds_here(peer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if PEERS[peer].missing:
        pytest.skip(f"{PEERS[peer].missing} not installed")
    monkeypatch.setattr(exported, "SENTENCES", 4)
    monkeypatch.setattr(precisions, "SENTENCES", 4)
    quick = [proof for proof in PEERS[peer].proofs() if not proof.ours.endswith(SLOW)]
    missed = [verdict for verdict in attempts(peer, quick) if not verdict.met]
    assert not missed and (quick or peer == "onnx")


@pytest.mark.parametrize("peer", PEERS)
def test_no_claim_is_made_twice_and_no_bound_is_generous(peer: str) -> None:
    if PEERS[peer].missing:
        pytest.skip(f"{PEERS[peer].missing} not installed")
    proofs = list(PEERS[peer].proofs())
    assert len({(proof.claim, proof.precision) for proof in proofs}) == len(proofs)
    for proof in proofs:
        most = exported.BOUND if "exported" in proof.ours else BOUND[torch.float32]
        most = most if proof.sign == "=" else 0.25  # nats of a word
        assert proof.bound <= (BOUND[torch.float64] if proof.precision == "float64" else most)


def heads_without_transpose(self: MultiHeadAttentionBlock, x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], self.h, x.shape[1], self.d_k)


def heads_are_the_fast_axis(self: MultiHeadAttentionBlock, x: Tensor) -> Tensor:
    return x.view(*x.shape[:2], self.d_k, self.h).permute(0, 3, 1, 2)


@pytest.mark.parametrize("wrong", [heads_without_transpose, heads_are_the_fast_axis])
@pytest.mark.parametrize("dtype", BOUND)
def test_a_wrong_attention_misses_its_bound(
    wrong: Callable[..., Tensor], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MultiHeadAttentionBlock, "split_heads", wrong)
    for find in (torch_nn.multi_head_attention, torch_layers.decoder_stack):
        assert not find(dtype).within(1e-3)
    assert not torch_layers.encoder_layer(torch_layers.ResidualConnection, dtype).within(1e-3)


def test_a_wrong_norm_misses_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The biased deviation, which is torch's own, but not ours."""
    monkeypatch.setattr(torch_nn, "LayerNormalization", BiasedWithoutRoot)
    assert not torch_nn.norm(torch.float64).within(1e-3)


class BiasedWithoutRoot(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.alpha, self.bias = nn.Parameter(torch.ones(features)), nn.Parameter(torch.ones(1))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: Tensor) -> Tensor:
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True, correction=0)
        return self.alpha * (x - mean) / std + self.bias


class Restless(FlatMuon):
    def __init__(self, model: nn.Module, betas: tuple[float, float], eps: float, wd: float) -> None:
        super().__init__(model, betas, eps, wd, momentum=0.94)


class Hurried(FlatAdam):
    def step(self, lr: float, scale: float, max_norm: float) -> bool:
        return super().step(1.01 * lr, scale, max_norm)


def consistent_loss_of(wrong: float, *sides: Any, smoothing: float, consistency: float) -> Losses:
    return consistent_loss(*sides, smoothing=smoothing, consistency=wrong)


def test_a_wrong_twin_misses_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "FlatAdam", Hurried)
    assert not learning.adam().within(BOUND[torch.float32])
    monkeypatch.setattr(learning, "FlatMuon", Restless)
    assert not learning.muon().within(BOUND[torch.float32])
    monkeypatch.setattr(learning, "CONSISTENCY", 2.0)
    monkeypatch.setattr(learning, "consistent_loss", partial(consistent_loss_of, 2.1))
    assert not learning.r_drop(torch.float64).within(1e-3)
    monkeypatch.setattr(fast_decoding, "decoder_mask", lambda ids, pad: None)
    assert not fast_decoding.word_by_word(IncrementalDecoder, torch.float64).within(1e-3)


def test_a_wrong_gradient_is_found_where_the_output_is_right() -> None:
    x = torch.randn(3, 4, dtype=torch.float64)
    found = side_by_side(lambda a: a * a, lambda a: a * a.detach(), [x], list)
    assert found.outputs == 0 and found.gradients is not None and found.gradients > 1e-2
    assert not found.within(1e-3)


def test_not_a_number_is_within_no_bound() -> None:
    nan, one = torch.full((2,), torch.nan), torch.ones(2)
    assert not Finding(largest([(one, one), (nan, one), (one, one)])).within(1e9)
    assert not worst([Finding(0.0), Finding(largest([(nan, nan)])), Finding(2.0)]).within(1e9)
    assert not Finding(0.0, torch.nan).within(1e9)


def test_one_other_answer_is_too_many() -> None:
    assert Finding(0.0, None, 0).within(0.0)
    assert not Finding(0.0, None, 1).within(1.0)


def test_another_shape_is_no_small_difference() -> None:
    with pytest.raises(AssertionError, match=r"\(2, 3\) is not \(3,\)"):
        largest([(torch.zeros(2, 3), torch.zeros(3))])
