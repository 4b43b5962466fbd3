"""The chunked R-Drop is both losses and both divergences: its value and all three gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.fast import agreement as module
from clearhead.fast.agreement import projected_agreement

SMOOTHING = 0.1


def make_case(tokens: int, d_model: int, vocab: int, dtype: torch.dtype) -> list[Tensor]:
    torch.manual_seed(tokens)
    return [
        torch.randn(2 * tokens, d_model, dtype=dtype),
        torch.randn(vocab, d_model, dtype=dtype) / d_model**0.5,
        torch.randn(vocab, dtype=dtype),
        torch.randint(vocab, (tokens,)).repeat(2),
    ]


def leaves_of(case: list[Tensor]) -> list[Tensor]:
    return [t.detach().clone().requires_grad_(t.is_floating_point()) for t in case]


def readable(
    hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, smoothing: float, alpha: float
) -> tuple[Tensor, Tensor]:
    logits = hidden @ weight.t() + bias
    loss = F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum")
    p, q = logits.log_softmax(dim=1).chunk(2)
    forth = F.kl_div(q, p, reduction="sum", log_target=True)  # KL(p || q)
    back = F.kl_div(p, q, reduction="sum", log_target=True)
    nll = F.cross_entropy(logits, labels, reduction="sum")
    return loss + alpha * (forth + back) / 2, nll


@pytest.mark.parametrize("alpha", [0.0, 4.0])
@pytest.mark.parametrize("chunk", [11 * 4, 2**22], ids=["chunks of two places", "one chunk"])
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_equal_to_both_losses_and_divergences_gradients_included(
    chunk: int, dtype: torch.dtype, bound: float, alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    ends = []
    for formula in (projected_agreement, readable):
        leaves = leaves_of(make_case(9, 6, 11, dtype))
        value, nll = formula(*leaves, SMOOTHING, alpha)
        (1.7 * value).backward()
        ends.append([value.detach(), nll.detach(), *(leaf.grad for leaf in leaves[:3])])
    for ours, theirs in zip(*ends, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=bound, atol=bound)


def test_whoever_agrees_has_nothing_more_to_learn() -> None:
    case = make_case(5, 6, 11, torch.float64)
    case[0] = case[0][:5].repeat(2, 1)
    gradients = []
    for alpha in (0.0, 7.0):
        leaves = leaves_of(case)
        projected_agreement(*leaves, SMOOTHING, alpha)[0].backward()
        gradients.append([leaf.grad for leaf in leaves[:3]])
    torch.testing.assert_close(*gradients)


def test_it_does_not_matter_which_pass_is_first() -> None:
    hidden, *rest = make_case(5, 6, 11, torch.float64)
    forth = projected_agreement(hidden, *rest, SMOOTHING, 3.0)
    back = projected_agreement(hidden.roll(5, dims=0), *rest, SMOOTHING, 3.0)
    torch.testing.assert_close(forth, back)
    assert forth[0] > projected_agreement(hidden, *rest, SMOOTHING, 0.0)[0]


def test_words_that_one_pass_rules_out_give_no_nan() -> None:
    leaves = leaves_of(make_case(5, 6, 11, torch.float32))
    with torch.no_grad():
        leaves[2][:4] = -300  # exp(-300) is no float32
    value, _ = projected_agreement(*leaves, SMOOTHING, 3.0)
    value.backward()
    assert value.isfinite()
    assert all(leaf.grad.isfinite().all() for leaf in leaves[:3] if leaf.grad is not None)


def test_in_bfloat16_gradients_are_near_those_in_float32() -> None:
    gradients = []
    for dtype in (torch.bfloat16, torch.float32):
        case = make_case(40, 16, 60, torch.bfloat16)
        leaves = leaves_of([*(t.to(dtype) for t in case[:3]), case[3]])
        projected_agreement(*leaves, SMOOTHING, 3.0)[0].backward()
        gradients.append([leaf.grad.float() for leaf in leaves[:3] if leaf.grad is not None])
    for few, full in zip(*gradients, strict=True):
        assert (few - full).norm() < 0.02 * full.norm()
