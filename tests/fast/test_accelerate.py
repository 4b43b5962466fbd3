"""The accelerated model is the same function with the same blocks and parameters."""

import copy

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import (
    MultiHeadAttentionBlock,
    RotaryMultiHeadAttentionBlock,
    record_attention,
)
from clearhead.blocks.masks import decoder_mask, padding_mask
from clearhead.blocks.normalization import LayerNormalization
from clearhead.errors import UserError
from clearhead.fast import CheapDropout, accelerate
from clearhead.fast.accelerate import (
    LEAF_OPERATIONS,
    ON_CPU,
    ON_GPU,
    operations_for,
    replaceable,
)
from clearhead.models import Bert, BertConfig, Esm, EsmConfig, Transformer
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


def _name(operations: frozenset[str]) -> str:
    """A set has no order of its own, but test processes must agree on names."""
    return "+".join(sorted(operations))


@pytest.mark.parametrize(
    "operations", [ON_CPU, ON_GPU, *({name} for name in LEAF_OPERATIONS)], ids=_name
)
def test_same_outputs_and_gradients(operations: frozenset[str]) -> None:
    for norm in ("pre", "post"):
        readable = make_model(norm, tie=True).double()
        for module in readable.modules():  # the two epsilons mean the same only where tiny
            if isinstance(module, LayerNormalization):
                module.eps = 1e-13
        expected, gradients = forward(readable)
        ours, our_gradients = forward(accelerate(copy.deepcopy(readable), operations))
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


@pytest.mark.parametrize("operations", [ON_CPU, ON_GPU], ids=_name)
def test_every_block_stays_the_same_object_with_the_forward_of_its_class(
    operations: frozenset[str],
) -> None:
    model = make_model()
    before = {name: m for name, m in model.named_modules() if type(m) is not nn.Dropout}
    after = dict(accelerate(model, operations).named_modules())
    assert all(after[name] is module for name, module in before.items())
    assert not [name for name, module in after.items() if "forward" in vars(module)]


def test_each_operation_changes_only_what_it_names() -> None:
    changed = {}
    for name in LEAF_OPERATIONS:
        parts = list(accelerate(make_model(), {name}).modules())
        changed[name] = {
            "attention": any("attention" in vars(part) for part in parts),
            "dropout": any(type(part) is CheapDropout for part in parts),
            "normalization": any("normalize" in vars(part) for part in parts),
        }
        assert (nn.Dropout in map(type, parts)) == (name != "dropout")
    assert changed == {name: {other: other == name for other in changed} for name in changed}


def test_what_can_be_replaced_is_named_and_afterwards_dropout_is_not() -> None:
    model = make_model()
    assert replaceable(model, ON_CPU) == ["dropout", "normalization"]
    assert replaceable(model, ON_GPU) == ["attention", "normalization"]
    assert replaceable(accelerate(model), {"dropout"}) == []
    sizes = {"seq_len": 14, "d_model": 12, "layers": 1, "h": 3, "d_ff": 20}
    bert = Bert.from_config(BertConfig(33, **sizes))  # its norms call the kernel themselves
    assert replaceable(bert, ON_CPU | ON_GPU) == ["attention", "dropout"]
    esm = accelerate(Esm.from_config(EsmConfig(33, **sizes)), ON_GPU)
    blocks = [m for m in esm.modules() if type(m) is RotaryMultiHeadAttentionBlock]
    assert blocks and all("attention" in vars(block) for block in blocks)


def test_an_unknown_operation_is_refused() -> None:
    message = "there is no leaf operation 'atention'; choose from attention"
    for function in (accelerate, replaceable):
        with pytest.raises(UserError, match=message):
            function(make_model(), {"atention"})


def test_the_device_chooses_the_operations() -> None:
    assert operations_for(torch.device("cpu")) == ON_CPU
    for name in ("cuda", "cuda:1"):
        assert operations_for(torch.device(name)) == ON_GPU
    assert LEAF_OPERATIONS.keys() == ON_CPU | ON_GPU


def test_replacing_draws_no_random_number() -> None:
    model = make_model()
    before = torch.get_rng_state()
    accelerate(model)
    assert torch.equal(before, torch.get_rng_state())


class LearnersNorm(LayerNormalization):
    """A learner's own norm."""


class LearnersAttention(MultiHeadAttentionBlock):
    """A learner's own block."""


class LearnersDropout(nn.Dropout):
    """A learner's own dropout, which does not even multiply."""

    def forward(self, x: Tensor) -> Tensor:
        return x + 1


def test_a_learners_own_parts_keep_their_operations() -> None:
    model = make_model()
    model.encoder.norm = norm = LearnersNorm(12)
    layer = model.encoder.layers[0]
    layer.self_attention_block = block = LearnersAttention(12, 3, 0.0)
    block.dropout = LearnersDropout()
    accelerate(model, ON_CPU | ON_GPU)
    assert model.encoder.norm is norm and "normalize" not in vars(norm)
    assert layer.self_attention_block is block and "attention" not in vars(block)
    assert type(block.dropout) is LearnersDropout


@pytest.mark.parametrize("operations", [ON_CPU, ON_GPU], ids=_name)
def test_hooks_stay_and_attention_is_recorded_on_request(operations: frozenset[str]) -> None:
    model = make_model()
    block = model.decoder.layers[0].cross_attention_block
    seen: list[str] = []
    block.w_q.register_forward_hook(lambda *_: seen.append("w_q"))
    block.register_forward_hook(lambda *_: seen.append("block"))
    forward(accelerate(model, operations))
    assert seen == ["w_q", "block"]
    assert block.attention_scores is None
    record_attention(model)
    forward(model)
    assert block.attention_scores is not None


def test_training_mode_is_kept() -> None:
    for mode in (True, False):
        model = accelerate(make_model().train(mode))
        assert {module.training for module in model.modules()} == {mode}


def test_twice_is_once() -> None:
    model = accelerate(make_model())
    parts = list(model.modules())
    assert all(a is b for a, b in zip(parts, accelerate(model).modules(), strict=True))
