import math

import pytest
import torch
import torch.nn.functional as F

from clearhead.blocks.normalization import LayerNormalization
from clearhead.errors import UserError
from clearhead.export.conventions import epsilon, scale_and_shift, weight_and_bias
from tests.export import models


@pytest.mark.parametrize("features", [None, 7])
def test_a_converted_norm_is_equal_except_for_epsilon(features: int | None) -> None:
    norm = LayerNormalization(features).double()
    with torch.no_grad():
        norm.alpha += torch.randn_like(norm.alpha)
        norm.bias += torch.randn_like(norm.bias)
    x = 3 * torch.randn(5, 7, dtype=torch.double)
    gamma, beta = (tensor.double() for tensor in scale_and_shift(norm, 7))
    theirs = F.layer_norm(x, (7,), gamma, beta, norm.eps**2)
    torch.testing.assert_close(theirs, norm(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sigma", [1.0, 1e-2, 1e-4])
def test_the_remaining_difference_is_at_most_epsilon_over_sigma(sigma: float) -> None:
    norm = LayerNormalization(7).double()
    x = sigma * torch.randn(100, 7, dtype=torch.double)
    gamma = norm.alpha * math.sqrt(6 / 7)
    theirs = F.layer_norm(x, (7,), gamma, norm.bias, norm.eps**2)
    smallest = x.std(dim=1, keepdim=True)
    assert ((theirs / norm(x)).log().abs() <= 1.01 * norm.eps / smallest).all()


def test_a_linear_layer_without_bias_has_zeros() -> None:
    weight, bias = weight_and_bias(torch.nn.Linear(3, 5, bias=False))
    assert weight.shape == (5, 3)
    assert bias.tolist() == [0.0] * 5


def test_two_epsilons_are_refused() -> None:
    model = models.tiny()
    assert epsilon(model) == 1e-6
    next(m for m in model.modules() if isinstance(m, LayerNormalization)).eps = 1e-3
    with pytest.raises(UserError, match="2 epsilons"):
        epsilon(model)
