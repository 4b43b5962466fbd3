"""One flat Adam is `torch.optim.AdamW` over all parameters, with masters that lose nothing."""

import copy

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks.variants.positions import RotaryPositions
from clearhead.fast.flat_optimizer import FlatAdam
from tests.decoding.tiny import make_model

BETAS, EPS, LR = (0.9, 0.98), 1e-9, 3e-3


def small_model() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))


def backward(model: nn.Module, step: int, dtype: torch.dtype = torch.float32) -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(step)).to(dtype)
    (100 * model(x).square().sum()).backward()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("max_norm", [0.0, 1.0])
def test_equal_to_adamw_on_separate_parameters(weight_decay: float, max_norm: float) -> None:
    ours = small_model()
    theirs = copy.deepcopy(ours)
    flat = FlatAdam(ours, BETAS, EPS, weight_decay)
    adam = torch.optim.AdamW(
        theirs.parameters(), lr=LR, betas=BETAS, eps=EPS, weight_decay=weight_decay
    )
    for step in range(8):
        backward(ours, step)
        flat.accumulate()
        assert flat.step(LR, 1.0, max_norm)
        adam.zero_grad()
        backward(theirs, step)
        norm = nn.utils.clip_grad_norm_(theirs.parameters(), max_norm or float("inf"))
        adam.step()
        assert flat.grad_norm == pytest.approx(float(norm), rel=1e-5)
        for mine, reference in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(mine, reference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_zero_grad_before_each_backward_pass_changes_nothing(dtype: torch.dtype) -> None:
    ours = small_model()
    theirs = copy.deepcopy(ours)
    for model in (ours, theirs):
        optimizer = FlatAdam(model, BETAS, EPS, dtype=dtype)
        for step in range(3):
            if model is ours:
                model.zero_grad()
            backward(model, step, dtype)
            optimizer.accumulate()
            assert optimizer.step(LR, 1.0, 1.0) and optimizer.grad_norm > 0
    for mine, reference in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, reference)


def test_accumulated_gradients_are_summed_and_scaled() -> None:
    ours = small_model()
    theirs = copy.deepcopy(ours)
    split, whole = FlatAdam(ours), FlatAdam(theirs)
    for step in (1, 2):
        backward(ours, step)
        split.accumulate()
    for step in (1, 2):
        backward(theirs, step)
    whole.accumulate()
    split.step(LR, 0.5, 1.0)
    whole.step(LR, 0.5, 1.0)
    assert split.grad_norm == pytest.approx(whole.grad_norm)
    torch.testing.assert_close(split.master, whole.master)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_micro_batches_add_up_in_float32_and_each_step_begins_anew(dtype: torch.dtype) -> None:
    model = small_model()
    flat = FlatAdam(model, dtype=dtype)
    for _ in range(2):  # two steps of three micro-batches
        total = torch.zeros_like(flat.master)
        for number in range(3):
            backward(model, number, dtype)
            if dtype != torch.float32:  # there autograd itself adds up
                total += flat.gradient.float()
            flat.accumulate()
        if dtype == torch.float32:
            total = flat.gradient.clone()
        flat.step(LR, 0.25, 0.0)
        assert flat.grad_norm == pytest.approx(0.25 * float(total.norm()), rel=1e-6)


def test_a_shared_parameter_is_one_parameter() -> None:
    model = make_model(tie=True)
    count = sum(p.numel() for p in model.parameters())
    flat = FlatAdam(model)
    assert len(flat.master) == count
    table = model.src_embed.embedding.weight
    assert table is model.tgt_embed.embedding.weight is model.projection_layer.proj.weight
    expected = table.detach() + 1.0
    flat.master.add_(1.0)
    torch.testing.assert_close(table.detach(), expected)


def test_frozen_parameters_stay_out() -> None:
    model = small_model()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    flat = FlatAdam(model)
    backward(model, 1)
    flat.accumulate()
    flat.step(LR, 1.0, 1.0)
    assert torch.equal(model[0].weight, before)


def test_masters_add_up_steps_that_bfloat16_would_lose() -> None:
    weight = nn.Linear(1, 1, bias=False)
    nn.init.ones_(weight.weight)
    flat = FlatAdam(weight, dtype=torch.bfloat16)
    for _ in range(40):  # each moves by 1e-4; bfloat16 has 4e-3 between 1 and its neighbour below
        flat.gradient.fill_(1.0)
        flat.accumulate()
        flat.step(1e-4, 1.0, 0.0)
    assert float(flat.master) == pytest.approx(1 - 40e-4, abs=1e-5)
    assert weight.weight.dtype == torch.bfloat16 and float(weight.weight.detach()) < 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_restoring_a_state_goes_on_bit_by_bit(dtype: torch.dtype) -> None:
    model = small_model()
    flat = FlatAdam(model, dtype=dtype)
    run(model, flat, range(3))
    saved = {name: tensor.clone() for name, tensor in flat.state().items()}
    run(model, flat, range(3, 6))
    other = small_model()
    again = FlatAdam(other, dtype=dtype)
    again.restore(saved)
    run(other, again, range(3, 6))
    for name, tensor in flat.state().items():
        assert torch.equal(tensor, again.state()[name]), name
    for mine, reference in zip(other.parameters(), model.parameters(), strict=True):
        assert torch.equal(mine, reference)


def test_a_state_before_the_first_step_can_be_restored() -> None:
    model, other = small_model(), small_model()
    flat, again = FlatAdam(model), FlatAdam(other)
    again.restore({name: tensor.clone() for name, tensor in flat.state().items()})
    run(model, flat, range(3))
    run(other, again, range(3))
    assert torch.equal(flat.master, again.master)


@pytest.mark.parametrize("poison", [float("nan"), float("inf"), float("-inf")])
def test_a_gradient_that_is_not_finite_changes_nothing(poison: float) -> None:
    model = small_model()
    flat = FlatAdam(model, dtype=torch.bfloat16)
    run(model, flat, range(2))
    before = {name: tensor.clone() for name, tensor in flat.state().items()}
    working = flat.working.clone()
    backward(model, 9, torch.bfloat16)
    flat.gradient[3] = poison
    flat.accumulate()
    assert not flat.step(LR, 1.0, 1.0)
    for name, tensor in flat.state().items():
        assert torch.equal(tensor, before[name]), name
    assert torch.equal(flat.working, working)
    run(model, flat, range(2, 3))  # and the next step is clean again
    assert flat.master.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_within_masters_the_model_holds_float32(dtype: torch.dtype) -> None:
    model = small_model()
    flat = FlatAdam(model, dtype=dtype)
    run(model, flat, range(2))
    with flat.masters():
        held = torch.cat([p.detach().flatten() for p in model.parameters()])
        assert held.dtype == torch.float32 and torch.equal(held, flat.master)
    assert {p.dtype for p in model.parameters()} == {dtype}
    run(model, flat, range(2, 3))  # gradients flow into the same buffer as before
    assert flat.grad_norm > 0


def test_a_state_of_another_model_is_refused() -> None:
    other = FlatAdam(nn.Linear(2, 2))
    with pytest.raises(ValueError, match=r"6 parameters.*66"):
        FlatAdam(small_model()).restore(other.state())


def run(model: nn.Module, flat: FlatAdam, steps: range) -> Tensor:
    for step in steps:
        backward(model, step, flat.working.dtype)
        flat.accumulate()
        flat.step(LR, 1.0, 1.0)
    return flat.master


def test_angles_of_rotary_positions_are_never_rounded() -> None:
    """At position 500 a frequency that lost 16 bits points somewhere else."""
    model = nn.Sequential(RotaryPositions(6), nn.Linear(6, 4), nn.BatchNorm1d(4))
    exact = model[0].frequencies.clone()
    FlatAdam(model, dtype=torch.bfloat16)
    assert torch.equal(model[0].frequencies, exact) and exact.dtype == torch.float32
    assert model[2].running_mean.dtype == torch.bfloat16
