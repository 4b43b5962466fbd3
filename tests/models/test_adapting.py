"""LoRA on whole models: the same answers at the start, only A and B learn, merging is exact."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

from clearhead.errors import UserError
from clearhead.fast.accelerate import accelerate
from clearhead.models import Bert, BertConfig, Esm, EsmConfig, Gpt, GptConfig, build_transformer
from clearhead.models.adapting import Adaptation, adapt, adapted_parts, merge

SMALL: dict[str, Any] = {"seq_len": 14, "d_model": 12, "layers": 2, "h": 3, "d_ff": 20}
KINDS: dict[str, Any] = {
    "bert": lambda: Bert.from_config(BertConfig(33, **SMALL)),
    "gpt": lambda: Gpt.from_config(GptConfig(33, **SMALL)),
    "esm": lambda: Esm.from_config(EsmConfig(33, **SMALL)),
}
ALL = ("w_q", "w_k", "w_v", "w_o")


def texts() -> torch.Tensor:
    return torch.randint(4, 30, (2, 9))


def learned(model: nn.Module) -> nn.Module:
    for _, part in adapted_parts(model):
        nn.init.normal_(part.up.weight, std=0.3)
    return model


def count_trained(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("projections", [("w_q", "w_v"), ALL], ids=["two", "all"])
@torch.no_grad()
def test_at_the_start_the_adapted_model_is_the_model_bit_by_bit(
    kind: str, projections: tuple[str, ...]
) -> None:
    model, ids = KINDS[kind]().eval(), texts()
    before = model(ids)
    adapt(model, Adaptation(2, 4.0, 0.1, projections))
    assert torch.equal(model(ids), before)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_merged_says_what_the_adapted_says_and_is_the_model_again(kind: str) -> None:
    model, ids = KINDS[kind]().eval(), texts()
    fresh = {name: t.clone() for name, t in model.named_parameters()}
    said = model(ids)
    learned(adapt(model, Adaptation(2, 4.0, 0.0, ALL)))
    adapted = model(ids)
    assert (adapted - said).abs().max() > 1e-3
    merged = merge(copy.deepcopy(model))
    torch.testing.assert_close(merged(ids), adapted, atol=1e-5, rtol=1e-5)
    assert dict(merged.named_parameters()).keys() == fresh.keys()
    changed = {n for n, t in merged.named_parameters() if not torch.equal(t, fresh[n])}
    assert changed == {n for n in fresh if n.endswith(tuple(f"{w}.weight" for w in ALL))}


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_a_and_b_and_nothing_else(kind: str) -> None:
    model = learned(adapt(KINDS[kind](), Adaptation(2, 4.0)))
    model(texts()).square().mean().backward()
    trained = {name for name, p in model.named_parameters() if p.grad is not None}
    assert trained == {n for n, _ in model.named_parameters() if ".down." in n or ".up." in n}
    assert count_trained(model) == 2 * 2 * 2 * (12 + 12)  # layers, projections, rank


def test_an_adapted_model_can_be_accelerated() -> None:
    model, ids = KINDS["bert"]().eval(), texts()
    learned(adapt(model, Adaptation(2, 4.0, 0.0, ALL)))
    fast = accelerate(copy.deepcopy(model))
    torch.testing.assert_close(fast(ids), model(ids), atol=1e-5, rtol=1e-5)
    for some in (fast, model):
        some(ids).square().mean().backward()
    for (name, one), other in zip(fast.named_parameters(), model.parameters(), strict=True):
        if one.requires_grad:
            torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-4, msg=name)


def test_a_translator_may_be_adapted_too_in_all_its_attentions() -> None:
    model = build_transformer(30, 30, 14, 14, d_model=12, N=2, h=3, d_ff=20)
    adapt(model, Adaptation(2, 4.0))
    assert len(list(adapted_parts(model))) == 2 * (2 + 2 * 2)  # self and cross


def test_twice_is_once_too_often() -> None:
    model = adapt(KINDS["esm"](), Adaptation(2, 4.0))
    with pytest.raises(UserError, match="adapted already; merge it"):
        adapt(model, Adaptation(2, 4.0))
    adapt(merge(model), Adaptation(2, 4.0))


@pytest.mark.parametrize("kind", KINDS)
def test_all_parameters_of_a_merged_model_are_trained(kind: str) -> None:
    model = KINDS[kind]()
    expected = count_trained(model)
    assert count_trained(merge(adapt(model, Adaptation(2, 4.0)))) == expected


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_model_of_another_data_type_can_be_adapted(dtype: torch.dtype) -> None:
    model, ids = KINDS["bert"]().eval().to(dtype), texts()
    before = model(ids)
    assert torch.equal(adapt(model, Adaptation(2, 4.0))(ids), before)


@pytest.mark.parametrize("rank", [0, -3, 13])
def test_a_refused_rank_leaves_the_model_as_it_was(rank: int) -> None:
    model = KINDS["gpt"]()
    with pytest.raises(UserError, match=f"rank={rank}"):
        adapt(model, Adaptation(rank))
    assert all(p.requires_grad for p in model.parameters()) and not list(adapted_parts(model))


def test_a_rank_below_one_is_refused_before_there_is_a_model() -> None:
    with pytest.raises(UserError, match=r"rank=0 .* at least 1"):
        Adaptation(0)


@pytest.mark.parametrize("projections", [("w_q", "w_x"), ()])
def test_what_cannot_be_adapted_is_named(projections: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match="choose from w_q, w_k, w_v, w_o"):
        Adaptation(projections=projections)


def test_a_projection_named_twice_is_adapted_once() -> None:
    model = adapt(KINDS["gpt"](), Adaptation(2, 4.0, 0.0, ("w_q", "w_q")))
    assert len(list(adapted_parts(model))) == SMALL["layers"]


def test_a_model_without_attention_is_refused() -> None:
    with pytest.raises(UserError, match="Linear has no attention to adapt"):
        adapt(nn.Linear(3, 3), Adaptation())


@pytest.mark.parametrize("rank", [2.0, 0, -3])
def test_a_rank_that_is_no_whole_number_is_refused_before_anything_is_frozen(rank: Any) -> None:
    with pytest.raises(UserError, match=f"rank={rank} is not a whole number of at least 1"):
        Adaptation(rank=rank)
