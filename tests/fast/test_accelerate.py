"""The accelerated model is the same function with the same parameters."""

import copy

import torch
from torch import Tensor

from clearhead.blocks.masks import decoder_mask, padding_mask
from clearhead.blocks.normalization import LayerNormalization
from clearhead.fast import CheapDropout, FusedLayerNormalization, accelerate
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


def test_same_outputs_and_gradients() -> None:
    for norm in ("pre", "post"):
        readable = make_model(norm, tie=True).double()
        for module in readable.modules():  # the two epsilons mean the same only where tiny
            if isinstance(module, LayerNormalization):
                module.eps = 1e-13
        expected, gradients = forward(readable)
        ours, our_gradients = forward(accelerate(copy.deepcopy(readable)))
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
    assert not kinds & {torch.nn.Dropout, LayerNormalization}


class LearnersNorm(LayerNormalization):
    """Somebody's own."""


def test_a_learners_own_part_is_left_alone() -> None:
    model = make_model()
    model.encoder.norm = LearnersNorm(12)
    accelerate(model)
    assert type(model.encoder.norm) is LearnersNorm


def test_training_mode_is_kept() -> None:
    for mode in (True, False):
        model = accelerate(make_model().train(mode))
        assert {module.training for module in model.modules()} == {mode}


def test_twice_is_once() -> None:
    model = accelerate(make_model())
    parts = list(model.modules())
    assert all(a is b for a, b in zip(parts, accelerate(model).modules(), strict=True))
