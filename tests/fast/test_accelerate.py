"""The accelerated model is the same function with the same parameters."""

import copy

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.blocks.masks import decoder_mask, padding_mask
from clearhead.blocks.normalization import LayerNormalization
from clearhead.errors import UserError
from clearhead.fast import CheapDropout, FusedLayerNormalization, accelerate
from clearhead.fast.accelerate import ON_CPU, ON_GPU, TWINS, twins_for
from clearhead.models import Transformer
from tests.decoding.tiny import make_model


def forward(model: Transformer) -> tuple[Tensor, dict[str, Tensor]]:
    """Log-probabilities and every gradient."""
    generator = torch.Generator().manual_seed(5)
    src = torch.randint(3, 20, (3, 9), generator=generator)
    tgt = torch.randint(3, 20, (3, 6), generator=generator)
    src[1, 5:] = tgt[2, 4:] = model.config.pad_id
    pad = model.config.pad_id
    out = model(src, tgt, padding_mask(src, pad), decoder_mask(tgt, pad))
    out.square().mean().backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return out.detach(), gradients


def _name(twins: frozenset[str]) -> str:
    """A set has no order of its own, but test processes must agree on names."""
    return "+".join(sorted(twins))


@pytest.mark.parametrize("twins", [ON_CPU, ON_GPU, *({name} for name in TWINS)], ids=_name)
def test_same_outputs_and_gradients(twins: frozenset[str]) -> None:
    for norm in ("pre", "post"):
        readable = make_model(norm, tie=True).double()
        for module in readable.modules():  # the two epsilons mean the same only where tiny
            if isinstance(module, LayerNormalization):
                module.eps = 1e-13
        expected, gradients = forward(readable)
        ours, our_gradients = forward(accelerate(copy.deepcopy(readable), twins))
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-9)
        assert our_gradients.keys() == gradients.keys()
        for name, gradient in gradients.items():
            torch.testing.assert_close(our_gradients[name], gradient, rtol=1e-9, atol=1e-9)


def test_parameters_keep_their_names_and_identity() -> None:
    model = make_model(tie=True)
    before = dict(model.named_parameters())
    after = dict(accelerate(model).named_parameters())
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)


def test_every_readable_part_with_a_twin_is_replaced() -> None:
    kinds = {type(module) for module in accelerate(make_model()).modules()}
    assert {CheapDropout, FusedLayerNormalization} <= kinds
    parts = {nn.Dropout, LayerNormalization, MultiHeadAttentionBlock}
    assert not kinds & parts


@pytest.mark.parametrize("name", TWINS)
def test_a_trick_alone_replaces_its_own_parts_only(name: str) -> None:
    before = {type(module) for module in make_model().modules()}
    after = {type(module) for module in accelerate(make_model(), {name}).modules()}
    assert before - after == set(TWINS[name])


def test_an_unknown_trick_is_refused() -> None:
    with pytest.raises(UserError, match="there is no twin 'atention'; choose from attention"):
        accelerate(make_model(), {"atention"})


def test_the_device_chooses_the_tricks() -> None:
    assert twins_for(torch.device("cpu")) == ON_CPU
    assert twins_for(torch.device("cuda")) == twins_for(torch.device("cuda:1")) == ON_GPU
    assert TWINS.keys() == ON_CPU | ON_GPU


def test_making_a_twin_draws_no_random_number() -> None:
    model = make_model()
    before = torch.get_rng_state()
    accelerate(model)
    assert torch.equal(before, torch.get_rng_state())


class LearnersNorm(LayerNormalization):
    """Somebody's own."""


def test_a_learners_own_part_is_left_alone() -> None:
    model = make_model()
    model.encoder.norm = LearnersNorm(12)
    accelerate(model)
    assert type(model.encoder.norm) is LearnersNorm


class LearnersDropout(nn.Module):
    """Somebody's own, and not even by factors."""

    def forward(self, x: Tensor) -> Tensor:
        return x + 1


def test_a_block_with_a_learners_own_dropout_is_left_alone() -> None:
    model = make_model()
    block = model.encoder.layers[0].self_attention_block
    block.dropout = LearnersDropout()
    accelerate(model)
    assert model.encoder.layers[0].self_attention_block is block
    assert type(block.dropout) is LearnersDropout


def test_hooks_and_watchers_stay() -> None:
    model = make_model()
    block = model.decoder.layers[0].cross_attention_block
    block.keep_attention_scores = True
    seen: list[str] = []
    block.w_q.register_forward_hook(lambda *_: seen.append("w_q"))
    block.register_forward_hook(lambda *_: seen.append("block"))
    forward(accelerate(model))
    assert seen == ["w_q", "block"]
    assert model.decoder.layers[0].cross_attention_block.attention_scores is not None


def test_training_mode_is_kept() -> None:
    for mode in (True, False):
        model = accelerate(make_model().train(mode))
        assert {module.training for module in model.modules()} == {mode}


def test_twice_is_once() -> None:
    model = accelerate(make_model())
    parts = list(model.modules())
    assert all(a is b for a, b in zip(parts, accelerate(model).modules(), strict=True))
