"""Cheap dropout draws independently: right rate, independent neighbours, mean kept."""

import math

import pytest
import torch
from torch import Tensor

from clearhead.fast.dropout import CheapDropout

SIZE = 1_000_003  # a prime: no multiple of the 8 bytes of a word


def dropped(p: float, size: int = SIZE) -> Tensor:
    """What dropout makes of ones."""
    return CheapDropout(p).train()(torch.ones(size))


@pytest.mark.parametrize("p", [0.001, 0.05, 0.1, 0.3, 0.5, 0.9, 0.999])
def test_the_rate_is_the_nearest_256th_within_binomial_bounds(p: float) -> None:
    rate = min(255, max(1, round(p * 256))) / 256
    observed = float((dropped(p) == 0).float().mean())
    assert abs(observed - rate) <= 5 * math.sqrt(rate * (1 - rate) / SIZE)
    assert abs(rate - p) <= 1 / 256


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_the_mean_is_kept(p: float) -> None:
    rate = round(p * 256) / 256
    deviation = math.sqrt(rate / (1 - rate) / SIZE)
    assert abs(float(dropped(p).double().mean()) - 1) <= 5 * deviation


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 7, 8, 9, 16, 64])
def test_neighbours_are_independent(lag: int) -> None:
    kept = (dropped(0.3) != 0).double()
    kept = kept - kept.mean()
    correlation = float((kept[lag:] * kept[:-lag]).mean() / kept.var())
    assert abs(correlation) <= 5 / math.sqrt(SIZE)


def test_every_byte_of_a_word_has_the_same_rate() -> None:
    rows = (dropped(0.25)[: SIZE // 8 * 8].view(-1, 8) == 0).double().mean(dim=0)
    assert float((rows - 0.25).abs().max()) <= 5 * math.sqrt(0.25 * 0.75 / (SIZE // 8))


def test_what_is_kept_is_scaled_by_one_number() -> None:
    values = dropped(0.1, 10_000).unique()
    torch.testing.assert_close(values, torch.tensor([0.0, 256 / (256 - 26)]))


def test_the_gradient_goes_through_the_same_mask() -> None:
    x = torch.randn(50, 7, requires_grad=True)
    y = CheapDropout(0.4).train()(x)
    y.backward(torch.ones_like(y))
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.where(y == 0, 0.0, y / x).detach())


@pytest.mark.parametrize("p", [0.0, 0.1, 1.0])
def test_at_rest_it_is_the_identity(p: float) -> None:
    x = torch.randn(3, 4)
    assert CheapDropout(p).eval()(x) is x


def test_p_0_is_the_identity_and_p_1_drops_everything() -> None:
    x = torch.randn(100)
    assert CheapDropout(0.0).train()(x) is x
    assert not CheapDropout(1.0).train()(x).any()


def test_a_rate_that_is_changed_later_counts() -> None:
    dropout, x = CheapDropout(0.25).train(), torch.randn(100)
    dropout.p = 0.0
    assert dropout(x) is x
    dropout.p = 1.0
    assert not dropout(x).any()


def test_a_rate_below_one_never_drops_everything() -> None:
    assert dropped(0.9999).any()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_any_shape_and_type_stays(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    y = CheapDropout(0.5).train()(torch.ones(shape, dtype=dtype))
    assert y.shape == shape and y.dtype == dtype


def test_the_same_seed_gives_the_same_mask() -> None:
    torch.manual_seed(3)
    first = dropped(0.2, 1000)
    torch.manual_seed(3)
    assert torch.equal(first, dropped(0.2, 1000))


def test_two_draws_are_independent() -> None:
    """Each draw seeds its own generator: their masks must have nothing in common."""
    first, second = ((dropped(0.3) != 0).double() for _ in range(2))
    correlation = ((first - first.mean()) * (second - second.mean())).mean() / first.var()
    assert abs(float(correlation)) <= 5 / math.sqrt(SIZE)


def test_without_numpy_the_rate_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU and a compiler use: torch's own generator."""
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    observed = float((dropped(0.25) == 0).float().mean())
    assert abs(observed - 0.25) <= 5 * math.sqrt(0.25 * 0.75 / SIZE)


def test_print_shows_the_rate() -> None:
    assert "p=64/256" in repr(CheapDropout(0.25))


@pytest.mark.parametrize("p", [2, -0.1])
def test_a_rate_that_is_no_probability_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        CheapDropout(p)
