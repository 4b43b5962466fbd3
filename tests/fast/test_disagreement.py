"""The chunked disagreement is the mean of both divergences: its value and all four gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.fast import disagreement as module
from clearhead.fast.disagreement import projected_disagreement


def make_case(tokens: int, d_model: int, vocab: int, dtype: torch.dtype) -> list[Tensor]:
    torch.manual_seed(tokens)
    return [
        torch.randn(tokens, d_model, dtype=dtype),
        torch.randn(tokens, d_model, dtype=dtype),
        torch.randn(vocab, d_model, dtype=dtype) / d_model**0.5,
        torch.randn(vocab, dtype=dtype),
    ]


def readable(one: Tensor, other: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    p, q = ((x @ weight.t() + bias).log_softmax(dim=1) for x in (one, other))
    forth = F.kl_div(q, p, reduction="sum", log_target=True)  # KL(p || q)
    back = F.kl_div(p, q, reduction="sum", log_target=True)
    return (forth + back) / 2


@pytest.mark.parametrize("chunk", [11 * 4, 2**20], ids=["chunks of four rows", "one chunk"])
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_equal_to_both_divergences_gradients_included(
    chunk: int, dtype: torch.dtype, bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    ends = []
    for formula in (projected_disagreement, readable):
        leaves = [t.requires_grad_() for t in make_case(9, 6, 11, dtype)]
        value = formula(*leaves)
        (1.7 * value).backward()
        ends.append([value.detach(), *(leaf.grad for leaf in leaves)])
    for ours, theirs in zip(*ends, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=bound, atol=bound)


def test_whoever_agrees_has_nothing_to_learn() -> None:
    one, _, weight, bias = make_case(5, 6, 11, torch.float32)
    leaves = [one.requires_grad_(), one.detach().clone().requires_grad_(), weight.requires_grad_()]
    value = projected_disagreement(leaves[0], leaves[1], leaves[2], bias)
    value.backward()
    assert float(value.detach()) == pytest.approx(0, abs=1e-6)
    assert all(float(leaf.grad.abs().max()) < 1e-6 for leaf in leaves if leaf.grad is not None)


def test_it_does_not_matter_who_is_first() -> None:
    one, other, weight, bias = make_case(5, 6, 11, torch.float64)
    forth = projected_disagreement(one, other, weight, bias)
    torch.testing.assert_close(projected_disagreement(other, one, weight, bias), forth)
    assert forth > 0


def test_in_bfloat16_gradients_are_near_those_in_float32() -> None:
    gradients = []
    for dtype in (torch.bfloat16, torch.float32):
        case = make_case(40, 16, 60, torch.bfloat16)
        leaves = [t.to(dtype).requires_grad_() for t in case]
        projected_disagreement(*leaves).backward()
        gradients.append([leaf.grad.float() for leaf in leaves if leaf.grad is not None])
    for few, full in zip(*gradients, strict=True):
        assert (few - full).norm() < 0.02 * full.norm()
