"""Dropout and sum in one walk are dropout, then sum: same draws, same gradients."""

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import LayerNormalization, ResidualConnection
from clearhead.fast.dropout import CheapDropout
from clearhead.fast.residual import FastResidualConnection

SHAPE = (3, 5, 24)


def both(p: float) -> tuple[ResidualConnection, ResidualConnection]:
    """The readable one, with the dropout that its twin shares, and the twin."""
    residual = ResidualConnection(p, LayerNormalization(SHAPE[-1])).double()
    residual.dropout = CheapDropout(p)  # type: ignore[assignment]
    return residual, FastResidualConnection.twin(residual)


def passed(residual: ResidualConnection, linear: nn.Linear, x: Tensor) -> list[Tensor]:
    """The output and every gradient, after the same draws."""
    torch.manual_seed(7)
    x = x.clone().requires_grad_()
    out = residual(x, linear)
    wanted = [x, *linear.parameters(), *residual.parameters()]
    return [out, *torch.autograd.grad(out.square().sum(), wanted)]


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("training", [True, False])
def test_same_sum_and_gradients(p: float, training: bool) -> None:
    linear, x = nn.Linear(SHAPE[-1], SHAPE[-1]).double(), torch.randn(SHAPE, dtype=torch.double)
    expected, found = (passed(residual.train(training), linear, x) for residual in both(p))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_a_short_sum_is_rounded_once() -> None:
    _, fast = both(0.3)
    fast.norm = nn.Identity()
    x, y = (torch.randn(SHAPE).bfloat16() for _ in range(2))
    torch.manual_seed(7)
    found = fast.train()(x, lambda _: y)
    torch.manual_seed(7)
    kept = CheapDropout(0.3).train()(torch.ones(SHAPE, dtype=torch.bfloat16))
    exact = x.double() + y.double() * kept.double()
    assert ((found.double() - exact).abs() <= 2**-8 * exact.abs()).all()


def test_the_twin_shares_norm_and_dropout() -> None:
    residual, fast = both(0.1)
    assert isinstance(fast, ResidualConnection)
    assert fast.norm is residual.norm and fast.dropout is residual.dropout
