"""Ablating a head equals setting its part of the concatenation to zero."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from clearhead.errors import UserError
from clearhead.explain.attention import sentence_pair
from clearhead.explain.interpretability import (
    Head,
    effect_of,
    effects,
    head_ablation,
    log_probability,
)
from clearhead.models.adapting import Adaptation, adapt, adapted_parts
from tests.explain import tiny

HEADS = [Head("encoder", 1, 0), Head("decoder", 0, 3), Head("cross", 1, 2)]
PATHS = {
    "encoder": "encoder.layers.{}.self_attention_block",
    "decoder": "decoder.layers.{}.self_attention_block",
    "cross": "decoder.layers.{}.cross_attention_block",
}


@pytest.mark.parametrize("adapted", [False, True])
@pytest.mark.parametrize("head", HEADS)
def test_ablation_equals_a_zero_part_of_the_concatenation(head: Head, adapted: bool) -> None:
    translator = tiny.translator()
    if adapted:
        adapt(translator.model, Adaptation(rank=2, projections=("w_v", "w_o")))
        for _, part in adapted_parts(translator.model):
            torch.nn.init.normal_(part.up.weight, std=0.3)
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    block = translator.model.get_submodule(PATHS[head.kind].format(head.layer))
    d_k = tiny.D_MODEL // tiny.HEADS

    def zero(module: object, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        (joined,) = inputs
        joined = joined.clone()
        joined[..., head.head * d_k : (head.head + 1) * d_k] = 0
        return (joined,)

    handle = block.get_submodule("w_o").register_forward_pre_hook(zero)
    expected = log_probability(translator.model, pair)
    handle.remove()
    with head_ablation(translator.model, [head]):
        assert log_probability(translator.model, pair) == pytest.approx(expected, abs=1e-5)
    assert abs(expected - log_probability(translator.model, pair)) > 1e-4  # the head has an effect


def test_all_weights_are_restored_afterwards() -> None:
    model = tiny.model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(RuntimeError, match="stop"), head_ablation(model, [*HEADS, HEADS[0]]):
        raise RuntimeError("stop")
    after = model.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())


def test_the_translation_is_that_of_a_model_without_the_heads() -> None:
    translator = tiny.translator()
    heads = [Head("cross", layer, head) for layer in range(2) for head in range(tiny.HEADS)]
    effect = effect_of(translator, tiny.SOURCE, heads, tiny.TARGET)
    for layer in range(2):
        block = translator.model.get_submodule(PATHS["cross"].format(layer))
        torch.nn.init.zeros_(block.get_submodule("w_o").get_parameter("weight"))
    assert effect.translation_without == sentence_pair(translator, tiny.SOURCE).translation
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    assert effect.log_probability_without == pytest.approx(
        log_probability(translator.model, pair), abs=1e-5
    )
    assert effect.change == effect.log_probability_without - effect.log_probability


def test_the_table_has_the_effect_of_every_head() -> None:
    translator = tiny.translator()
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    table = effects(translator, pair)
    assert {kind: len(rows) for kind, rows in table.items()} == {
        "encoder": 3,
        "decoder": 2,
        "cross": 2,
    }
    kind, layer, head = HEADS[2]
    alone = effect_of(translator, tiny.SOURCE, [HEADS[2]], tiny.TARGET)
    assert table[kind][layer][head] == pytest.approx(alone.change)


@pytest.mark.parametrize("head", [Head("cross", 2, 0), Head("encoder", 0, 4), Head("cross", 0, -1)])
def test_a_missing_head_is_refused(head: Head) -> None:
    with (
        pytest.raises(UserError, match=r"no head .* layers of 4 heads"),
        head_ablation(tiny.model(), [head]),
    ):
        pass


def test_an_unknown_kind_is_refused() -> None:
    message = "'sideways'; choose from encoder, decoder, cross"
    with (
        pytest.raises(UserError, match=message),
        head_ablation(tiny.model(), [Head("sideways", 0, 0)]),
    ):
        pass


def test_threads_that_ablate_heads_leave_the_weights_as_they_were() -> None:
    translator = tiny.translator()
    before = {name: p.clone() for name, p in translator.model.named_parameters()}
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda head: effect_of(translator, "The dog.", [head]), HEADS * 4))
    assert all(torch.equal(p, before[name]) for name, p in translator.model.named_parameters())
