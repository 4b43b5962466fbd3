"""The chunked loss is `F.cross_entropy` of the projection: both values and all three gradients."""

from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from clearhead.fast import loss as module
from clearhead.fast.loss import projected_cross_entropy

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


class Case(NamedTuple):
    hidden: Tensor
    weight: Tensor
    bias: Tensor
    labels: Tensor


class Outcome(NamedTuple):
    loss: Tensor
    nll: Tensor
    gradients: tuple[Tensor, ...]


def make_case(tokens: int, d_model: int, vocab: int, dtype: torch.dtype) -> Case:
    return Case(
        torch.randn(tokens, d_model, dtype=dtype),
        torch.randn(vocab, d_model, dtype=dtype) / d_model**0.5,
        torch.randn(vocab, dtype=dtype),
        torch.randint(0, vocab, (tokens,)),
    )


def outcome(case: Case, smoothing: float, fast: bool, upstream: float = 1.0) -> Outcome:
    leaves = [t.clone().requires_grad_() for t in case[:3]]
    if fast:
        loss, nll = projected_cross_entropy(leaves[0], leaves[1], leaves[2], case.labels, smoothing)
    else:
        logits = leaves[0] @ leaves[1].t() + leaves[2]
        nll = F.cross_entropy(logits, case.labels, reduction="sum")
        loss = F.cross_entropy(logits, case.labels, label_smoothing=smoothing, reduction="sum")
    (upstream * loss).backward()
    return Outcome(loss.detach(), nll.detach(), tuple(leaf.grad for leaf in leaves))


def assert_equal(case: Case, smoothing: float, tolerance: float, upstream: float = 1.0) -> None:
    ours = outcome(case, smoothing, fast=True, upstream=upstream)
    theirs = outcome(case, smoothing, fast=False, upstream=upstream)
    close = {"rtol": tolerance, "atol": tolerance}
    torch.testing.assert_close(ours.loss, theirs.loss, **close)
    torch.testing.assert_close(ours.nll, theirs.nll, **close)
    for mine, reference in zip(ours.gradients, theirs.gradients, strict=True):
        torch.testing.assert_close(mine, reference, **close)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [1, 7, 23, 64])
def test_equal_to_cross_entropy_in_any_chunks(
    dtype: torch.dtype, smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk * 11)  # chunk rows of the vocabulary
    assert_equal(make_case(23, 6, 11, dtype), smoothing, TOLERANCE[dtype])


@given(
    tokens=st.integers(1, 40),
    d_model=st.integers(1, 9),
    vocab=st.integers(1, 30),
    smoothing=st.floats(0, 0.99),
    upstream=st.floats(-3, 3),
    seed=st.integers(0, 2**31),
)
def test_equal_to_cross_entropy_for_any_sizes(
    tokens: int, d_model: int, vocab: int, smoothing: float, upstream: float, seed: int
) -> None:
    torch.manual_seed(seed)
    case = make_case(tokens, d_model, vocab, torch.float64)
    assert_equal(case, smoothing, 1e-10, upstream)


@pytest.mark.parametrize("vocab", [9, 40])
def test_a_chunk_is_so_many_elements(vocab: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is longer than a chunk is a chunk."""
    monkeypatch.setattr(module, "CHUNK", 30)
    assert_equal(make_case(7, 5, vocab, torch.float64), 0.1, 1e-10)


def test_a_probability_too_small_for_a_number_has_its_loss_all_the_same() -> None:
    case = make_case(3, 4, 6, torch.float32)
    bias = torch.full((6,), -900.0)
    bias[2] = 0.0
    hopeless = case._replace(bias=bias, labels=torch.tensor([1, 2, 3]))
    assert_equal(hopeless, 0.1, 1e-5)
    assert float(outcome(hopeless, 0.1, fast=True).nll) > 1700


def test_its_gradient_is_the_one_that_differences_show() -> None:
    case = make_case(5, 3, 7, torch.float64)
    leaves = [t.clone().requires_grad_() for t in case[:3]]
    assert torch.autograd.gradcheck(
        lambda h, w, b: projected_cross_entropy(h, w, b, case.labels, 0.1)[0], leaves
    )


def test_no_tokens_cost_nothing() -> None:
    ours = outcome(make_case(0, 4, 6, torch.float32), 0.1, fast=True)
    assert float(ours.loss) == float(ours.nll) == 0
    assert all(not gradient.any() for gradient in ours.gradients)


def test_bfloat16_stays_near_float32() -> None:
    case = make_case(200, 16, 50, torch.float32)
    exact = outcome(case, 0.1, fast=False)
    rounded = Case(*(t.bfloat16() for t in case[:3]), case.labels)
    ours = outcome(rounded, 0.1, fast=True)
    assert ours.loss.dtype == torch.float32
    torch.testing.assert_close(ours.loss, exact.loss, rtol=3e-3, atol=0)
    torch.testing.assert_close(ours.nll, exact.nll, rtol=3e-3, atol=0)
    for mine, reference in zip(ours.gradients, exact.gradients, strict=True):
        assert mine.dtype == torch.bfloat16
        assert (mine - reference).norm() <= 0.02 * reference.norm()


def test_only_the_smoothed_loss_carries_a_gradient() -> None:
    case = make_case(4, 3, 5, torch.float32)
    weight = case.weight.clone().requires_grad_()
    loss, nll = projected_cross_entropy(case.hidden, weight, case.bias, case.labels, 0.1)
    assert loss.requires_grad and not nll.requires_grad


def test_without_gradients_none_are_made() -> None:
    with torch.inference_mode():
        loss, nll = projected_cross_entropy(*make_case(4, 3, 5, torch.float32), 0.0)
    torch.testing.assert_close(loss, nll)
